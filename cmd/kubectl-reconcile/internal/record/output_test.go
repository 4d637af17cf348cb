package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

func header() replay.Header { return replay.Header{Server: "v1"} }

// version returns a record of an object that is hard to compress.
func version(n int) *replay.Record {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "%x", uint64(n+1)*0x9E3779B97F4A7C15*uint64(i+1))
	}
	return &replay.Record{
		Type: replay.TypeModified, Stream: 1, Name: "a", ResourceVersion: fmt.Sprint(n), Time: time.Unix(int64(n), 0),
		Object: []byte(`{"data":"` + text.String() + `"}`),
	}
}

func define(t *testing.T, o *output) {
	t.Helper()
	err := o.Write(&replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &replay.Stream{Number: 1, Version: "v1", Kind: "A", Resource: "as"}})
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the resource versions of the objects in a recording, and how it ends.
func read(t *testing.T, path string) (versions []string, end string) {
	t.Helper()
	file, err := replay.OpenFile(path, replay.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for {
		r, err := file.Next()
		switch {
		case errors.Is(err, io.EOF):
			return versions, end
		case err != nil:
			t.Fatal(err)
		case r.Type == replay.TypeEnd:
			end = r.Message
		case r.Type.HasObject():
			versions = append(versions, r.ResourceVersion)
		}
	}
}

func TestRotatedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	o, err := openOutput(outputOptions{path: path, rotate: minSize, maxSize: 3 * minSize}, header, nil)
	if err != nil {
		t.Fatal(err)
	}
	define(t, o)
	var want []string
	n := 0
	for rotations := 0; rotations < 5; n++ {
		if err := o.Write(version(n)); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(n))
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
		if o.Full() {
			if err := o.Next(); err != nil {
				t.Fatal(err)
			}
			define(t, o)
			rotations++
		}
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	left, err := rotatedFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	if exists(path) || len(left) < 2 || len(left) > 4 {
		t.Errorf("what is left is %v, and the first file: %t", left, exists(path))
	}
	var got []string
	var sum int64
	for i, file := range left {
		versions, end := read(t, file)
		got = append(got, versions...)
		if last := i == len(left)-1; !last && !strings.HasPrefix(end, "continued in x.rec.") {
			t.Errorf("%s ends with %q", file, end)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
		sum += info.Size()
	}
	if diff := cmp.Diff(want[len(want)-len(got):], got); diff != "" {
		t.Error(diff)
	}
	if sum != o.written() {
		t.Errorf("%d bytes are left, and %d are said", sum, o.written())
	}
}

func TestMaxSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	full := 0
	o, err := openOutput(outputOptions{path: path, maxSize: minSize}, header, func() { full++ })
	if err != nil {
		t.Fatal(err)
	}
	define(t, o)
	for n := 0; full == 0; n++ {
		if err := errors.Join(o.Write(version(n)), o.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(o.Write(version(1000)), o.Flush(), o.close()); err != nil {
		t.Fatal(err)
	}
	if full != 1 || o.written() < minSize || o.written() > 2*minSize {
		t.Errorf("full was called %d times, at %d bytes", full, o.written())
	}
}
