package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestRunCommand(t *testing.T) {
	for _, test := range []struct {
		command           []string
		out, want, reason string
	}{
		{[]string{"sh", "-c", "echo $KUBECONFIG"}, "a path\n", "", "the kubeconfig is in its environment"},
		{[]string{"sh", "-c", "exit 3"}, "", `running "sh": exit status 3`, "it fails"},
		{[]string{"no-such-program"}, "", `starting "no-such-program": `, "it is not there"},
		{[]string{filepath.Join(t.TempDir(), "none")}, "", "starting ", "nor is its path"},
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		err := runCommand(t.Context(), streams, "a path", test.command)
		if got := out.String(); got != test.out {
			t.Errorf("%q printed %q, want %q: %s", test.command, got, test.out, test.reason)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q: %s", test.command, err, test.want, test.reason)
		}
	}
}

// TestCommandIsEnded: it is asked to end, and to have done so is no error.
func TestCommandIsEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	ready, ended := filepath.Join(dir, "ready"), filepath.Join(dir, "ended")
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte(
		"trap 'echo > "+ended+"; exit 1' TERM\nmkfifo "+ready+"\necho > "+ready+"\nwhile :; do sleep 0.01; done\n",
	), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		for t.Context().Err() == nil {
			if _, err := os.ReadFile(ready); err == nil { // blocks until the program writes to it
				return
			}
		}
	}()
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	if err := runCommand(ctx, streams, "", []string{"sh", filepath.Join(dir, "run.sh")}); err != nil {
		t.Errorf("%v: %s", err, errOut)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("it was not asked to end: %v", err)
	}
}
