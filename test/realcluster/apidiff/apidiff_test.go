package apidiff

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

const (
	// filesVariable names a regular expression: only files of the corpus whose names match are played.
	filesVariable = "APIDIFF_FILES"
	// answersVariable names a folder for the normalised answers of both sides.
	answersVariable = "APIDIFF_ANSWERS"
	// reportVariable names a folder for the report.
	reportVariable = "FIDELITY_REPORT"
	// realVariable set to "embedded" compares the embedded API with itself, which needs no real server: for writing
	// steps.
	realVariable = "APIDIFF_REAL"
)

// TestAPI plays the corpus on a real kube-apiserver and on the embedded API.
func TestAPI(t *testing.T) {
	files, whole := corpus(t)
	lines := meantLines(t)
	suite := &Suite{Real: realSide(t), Embedded: embeddedSide(t, "embedded"), Meant: lines}
	results, err := suite.Play(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range results {
		for _, problem := range file.Problems {
			t.Errorf("the corpus is wrong: %v", problem)
		}
		for _, step := range file.Steps {
			if step.Outcome == Different {
				t.Errorf("different:\n%s", step.Describe())
			}
		}
		writeAnswers(t, file)
	}
	if whole {
		for _, line := range Unneeded(lines) {
			t.Errorf("meant.yaml: no longer needed: step %q, path %q", line.Step, line.Path)
		}
	}
	sum := Sum(results, lines)
	counts := sum.Counts()
	t.Logf("%d requests: %d same, %d meant to differ, %d different", counts.Total(), counts.Same, counts.Meant, counts.Different)
	if dir := os.Getenv(reportVariable); dir != "" {
		if err := report.Write(dir, sum); err != nil {
			t.Error(err)
		}
	}
}

// corpus reads the corpus, or the part of it that the environment asks for.
func corpus(t *testing.T) (files []File, whole bool) {
	t.Helper()
	var wanted *regexp.Regexp
	if pattern := os.Getenv(filesVariable); pattern != "" {
		var err error
		if wanted, err = regexp.Compile(pattern); err != nil {
			t.Fatalf("%s: %v", filesVariable, err)
		}
	}
	files, err := Load(os.DirFS("testdata/corpus"), wanted)
	if err != nil {
		t.Fatal(err)
	}
	return files, wanted == nil
}

func meantLines(t *testing.T) []*Meant {
	t.Helper()
	data, err := os.ReadFile("testdata/meant.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ParseMeant(data)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// realSide is a kube-apiserver with its etcd and nothing else.
func realSide(t *testing.T) *Side {
	t.Helper()
	if os.Getenv(realVariable) == "embedded" {
		return embeddedSide(t, "real")
	}
	cluster, err := realcluster.Start(t.Context(), realcluster.Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stopping the control plane: %v", err)
		}
	})
	side, err := NewSide("real", cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// embeddedSide is the sandbox of the plugin, built from this checkout, without controllers.
func embeddedSide(t *testing.T, name string) *Side {
	t.Helper()
	sandbox, err := realcluster.StartSandbox(t.Context(), realcluster.SandboxOptions{Args: []string{"--controller", "none", "--nodes", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sandbox.Stop(); err != nil {
			t.Errorf("stopping the sandbox: %v", err)
		}
	})
	config, err := sandbox.Config()
	if err != nil {
		t.Fatal(err)
	}
	side, err := NewSide(name, config)
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// writeAnswers writes FILE/STEP.real.json and FILE/STEP.embedded.json, where asked for.
func writeAnswers(t *testing.T, file FileResult) {
	t.Helper()
	dir := os.Getenv(answersVariable)
	if dir == "" {
		return
	}
	if err := os.MkdirAll(filepath.Join(dir, file.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range file.Steps {
		writeJSON(t, filepath.Join(dir, step.ID+".real.json"), step.Real)
		writeJSON(t, filepath.Join(dir, step.ID+".embedded.json"), step.Embedded)
	}
}

func writeJSON(t *testing.T, file string, value any) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
