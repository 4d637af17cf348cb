package kubectl

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
)

// corpus is the package whose test plays the situations of `why`, of the module that is tested.
const corpus = "cmd/kubectl-reconcile/internal/why"

// TestAdvice has the real kubectl follow the first advice of `why` that changes something in each situation of its
// corpus: it must be accepted, lose nothing, and leave the object converged or with another cause.
func TestAdvice(t *testing.T) {
	t.Parallel()
	kubectl, _ := buildPrograms(t)
	program := filepath.Join(filepath.Dir(kubectl), "why.test")
	compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", program, "./"+corpus)
	compile.Dir = "../.."
	if said, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compiling the corpus: %v\n%s", err, said)
	}
	cmd := exec.CommandContext(beforeDeadline(t), program, "-test.run", "^TestCorpus$", "-test.timeout", "15m", "-kubectl", kubectl)
	cmd.Dir = filepath.Join("../..", corpus) // its data files are there
	endWithTest(cmd)
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil {
		t.Errorf("following the advice: %v\n%s", err, said)
	}
}
