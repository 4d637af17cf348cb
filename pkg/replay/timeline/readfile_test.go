package timeline

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// inFile is what ReadFile yields of a file: entries, but that of the beginning, by their writers, and an error.
func inFile(path string, o Options) (writers []string, err error) {
	for e, readErr := range ReadFile(path, o) {
		if err != nil {
			return nil, errors.New("an error is not the last that is yielded")
		}
		if err = readErr; err == nil && e.Type != Begin {
			writers = append(writers, string(e.Type)+" "+e.Writer.Name())
		}
	}
	return writers, err
}

func TestReadFile(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeAdded, "Pod", pod(`,"resourceVersion":"5"`, ""))
	r.object(replay.TypeModified, "Pod", pod(`,"resourceVersion":"6"`, `,"spec":{"nodeName":"n"}`))
	r.trace(&trace.Event{Detail: &trace.Watch{Event: trace.Modified, Object: trace.Object{Kind: "Pod", Namespace: "shop", Name: "a"}, ResourceVersion: "6", WrittenBy: 1, Writer: "job"}})
	var content bytes.Buffer
	w, err := replay.NewWriter(&content, r.Head, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range r.Records {
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	written := content.Len()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, cut := filepath.Join(t.TempDir(), "whole.rec"), filepath.Join(t.TempDir(), "cut.rec")
	if err := errors.Join(os.WriteFile(whole, content.Bytes(), 0o600), os.WriteFile(cut, content.Bytes()[:written], 0o600)); err != nil {
		t.Fatal(err)
	}

	got, err := inFile(whole, Options{})
	if diff := cmp.Diff([]string{"ADDED ", "MODIFIED job", "END "}, got); diff != "" || err != nil {
		t.Errorf("who wrote is known though the trace has it later: %v (-want +got):\n%s", err, diff)
	}
	got, err = inFile(cut, Options{Filter: Filter{Types: []Type{Modified}}})
	if diff := cmp.Diff([]string{"MODIFIED job"}, got); diff != "" || !isTorn(err) {
		t.Errorf("what is there is read of a recording that was cut off: %v (-want +got):\n%s", err, diff)
	}
	if _, err := inFile(filepath.Join(t.TempDir(), "none.rec"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	for _, err := range ReadFile(whole, Options{}) {
		if err != nil {
			t.Error(err)
		}
		break // a second call of yield would panic
	}
}
