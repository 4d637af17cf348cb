package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// TestWithProgress: progress is for who looks at a terminal, and for no other.
func TestWithProgress(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !render.IsTerminal(terminal) {
		t.Skip("no terminal")
	}
	t.Cleanup(func() { _ = terminal.Close() })
	for _, tt := range []struct {
		reason   string
		out, err bool // are terminals
		wanted   bool
		shown    bool
	}{
		{"a terminal", true, true, true, true},
		{"quiet, or for programs", true, true, false, false},
		{"stdout is a pipe, and what reads from it may have the screen", false, true, true, false},
		{"stderr is a pipe", true, false, true, false},
		{"both are", false, false, true, false},
	} {
		streams := genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
		if tt.out {
			streams.Out = terminal
		}
		if tt.err {
			streams.ErrOut = terminal
		}
		p, beside := withProgress(streams, tt.wanted)
		if (p != nil) != tt.shown || (beside.Out != streams.Out) != tt.shown || (beside.ErrOut != streams.ErrOut) != tt.shown {
			t.Errorf("%s: progress %v, streams %T and %T", tt.reason, p, beside.Out, beside.ErrOut)
		}
		if render.IsTerminal(beside.Out) != tt.out {
			t.Errorf("%s: stdout is a terminal: %t", tt.reason, !tt.out)
		}
	}
}

func TestProgressTexts(t *testing.T) {
	current, late := objectOf("", "Pod", "a", "Current"), objectOf("", "Pod", "b", "InProgress")
	for _, tt := range []struct{ reason, got, want string }{
		{"nothing read", readingText(cluster.Progress{Kinds: 80}), "reading: 0 of 80 kinds"},
		{"the server does not say how many there are", readingText(cluster.Progress{Kinds: 80, Done: 12, Objects: 1, Expected: 1}), "reading: 12 of 80 kinds, 1 object"},
		{"it does", readingText(cluster.Progress{Kinds: 80, Done: 12, Objects: 31000, Expected: 80000}), "reading: 12 of 80 kinds, 31000 of 80000 objects"},
		{"ready", readyText([]runlocal.ObjectStatus{current, late, late}), "waiting: 1 of 3 ready"},
		{"settled", settledText(7, 4), "waiting until nothing is left to do: 7 keys queued, 4 worked on"},
		{"settling", settledText(0, 0), "waiting until nothing is left to do"},
		{"a time", elapsedText(12*time.Second, 30*time.Second), "running: 12s of 30s"},
		{"caches, before any was asked for", fillingText(0, 0), "filling caches"},
		{"caches", fillingText(12, 41), "filling caches: 12 of 41 resources"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, tt.got, tt.want)
		}
	}
}
