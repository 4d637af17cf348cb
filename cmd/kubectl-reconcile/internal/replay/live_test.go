package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// watched is what waits for lines that are written.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

// Write implements io.Writer.
func (w *watched) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(text)
	for line := range strings.Lines(string(text)) {
		w.lines <- strings.TrimSuffix(line, "\n")
	}
	return len(text), nil
}

func watchEvent(typ, name string, replicas int) string {
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":%q,"namespace":"shop","uid":"u",`+
		`"resourceVersion":"%d"},"spec":{"replicas":%[3]d}}}`+"\n", typ, name, replicas)
}

// TestStreams: each event of a pipe is shown when it arrives, and the command ends with the pipe, or when it is
// interrupted.
func TestStreams(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		in, pipe := io.Pipe()
		out := &watched{lines: make(chan string, 100)}
		streams := genericiooptions.IOStreams{In: in, Out: out, ErrOut: io.Discard}
		ctx, cancel := context.WithCancel(t.Context())
		cmd := NewCommand(streams)
		cmd.SetArgs([]string{"-"})
		ended := make(chan error, 1)
		go func() { ended <- cmd.ExecuteContext(ctx) }()
		for i, row := range []struct{ event, want string }{
			{watchEvent("ADDED", "a", 1), "#2      ReplicationController/a       created, replicas 1"},
			{watchEvent("MODIFIED", "a", 2), "#3      ReplicationController/a       spec.replicas: 1 -> 2"},
			{watchEvent("DELETED", "a", 3), "#4      ReplicationController/a       gone"},
		} {
			if _, err := io.WriteString(pipe, row.event); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, <-out.lines); diff != "" {
				t.Errorf("event %d (-want +got):\n%s", i, diff)
			}
		}
		if interrupted {
			cancel()
		} else if err := pipe.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("interrupted %t: %v", interrupted, err)
		}
		cancel()
		_ = pipe.Close()
	}
}
