package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

// reports is a folder with a suite that has so many differences.
func reports(t *testing.T, different int) string {
	t.Helper()
	dir := t.TempDir()
	row := report.Row{Name: "lists", Counts: report.Counts{Same: 3, Different: different}}
	if err := report.Write(dir, report.Suite{Name: "API", Unit: "requests", Rows: []report.Row{row}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPageIsWrittenAndChecked(t *testing.T) {
	page := filepath.Join(t.TempDir(), "fidelity.md")
	same := reports(t, 0)
	var out bytes.Buffer
	if err := run([]string{"-write", page, same}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "API     3 requests   3") {
		t.Errorf("the table is not printed:\n%s", out.String())
	}
	if err := run([]string{"-check", page, same}, &out); err != nil {
		t.Errorf("the page that was written is not taken: %v", err)
	}
	if err := os.WriteFile(page, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-check", page, same}, &out); err == nil || !strings.Contains(err.Error(), "make fidelity") {
		t.Errorf("an old page: %v, want an error that says what to do", err)
	}
}

func TestDifferencesFail(t *testing.T) {
	page := filepath.Join(t.TempDir(), "fidelity.md")
	var out bytes.Buffer
	err := run([]string{"-write", page, reports(t, 2)}, &out)
	if err == nil || err.Error() != "2 requests differ" {
		t.Errorf("got %v, want an error that counts them", err)
	}
	if !strings.Contains(out.String(), "3") {
		t.Error("the table is not printed when something differs")
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page with differences is written")
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"-nonsense"}, {t.TempDir()}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
