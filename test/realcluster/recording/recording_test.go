package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

const (
	// patience is how long a step may take on a busy machine.
	patience = 2 * time.Minute
	// mayBeLost is what a recorder that is killed may lose: what it has received in its last second. A write is answered
	// a little before its event is received.
	mayBeLost = time.Second + 250*time.Millisecond
)

// pause waits for d.
func pause(d time.Duration) { <-time.After(d) }

// isLong reports whether the tests are to take their time.
func isLong() bool { return os.Getenv("RECORDING_LONG") != "" }

// write is one that was answered.
type write struct {
	version string
	at      time.Time
}

// writer changes ConfigMaps until it is stopped, and remembers which versions it has made.
type writer struct {
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex // guards what follows
	writes []write
}

// startWriter starts a writer that changes, creates and deletes objects as fast as it is answered, but for a pause.
func startWriter(ctx context.Context, t *testing.T, cluster *realcluster.Cluster, rest time.Duration) *writer {
	t.Helper()
	config := cluster.Config()
	config.QPS = -1
	config.Timeout = 5 * time.Second // the server may be killed
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	ctx, stop := context.WithCancel(ctx)
	w := &writer{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for n := 0; ctx.Err() == nil; n++ {
			one := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("churn-%d", n%7)}, Data: map[string]string{"n": fmt.Sprint(n)},
			}
			var answer *corev1.ConfigMap
			var err error
			switch n % 21 {
			case 20: // the answer to a deletion does not have its version: the events of others show that it came
				err = maps.Delete(ctx, one.Name, metav1.DeleteOptions{})
			default:
				if answer, err = maps.Update(ctx, one, metav1.UpdateOptions{}); err != nil {
					answer, err = maps.Create(ctx, one, metav1.CreateOptions{})
				}
			}
			if err == nil && answer != nil {
				w.mu.Lock()
				w.writes = append(w.writes, write{answer.ResourceVersion, time.Now()})
				w.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(rest):
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-w.done
	})
	return w
}

// between returns the versions of the writes that were answered between two times.
func (w *writer) between(from, to time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, one := range w.writes {
		if one.at.After(from) && one.at.Before(to) {
			out = append(out, one.version)
		}
	}
	return out
}

// recorder is `kubectl reconcile record`, which runs.
type recorder struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	file   string
	ended  chan struct{}
}

// lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// record starts a recorder, and returns when everything that exists is recorded.
func record(ctx context.Context, t *testing.T, program, kubeconfig, file string, args ...string) *recorder {
	t.Helper()
	r, err := startRecorder(ctx, program, kubeconfig, file, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// startRecorder starts a recorder, and returns when everything that exists is recorded.
func startRecorder(ctx context.Context, program, kubeconfig, file string, args ...string) (*recorder, error) {
	r := &recorder{stderr: &lockedBuffer{}, file: file, ended: make(chan struct{})}
	args = append([]string{"record", "--kubeconfig", kubeconfig, "-o", file, "--force"}, args...)
	r.cmd = exec.CommandContext(ctx, program, args...)
	r.cmd.Stderr = r.stderr
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a recorder: %w", err)
	}
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // how it ended is in ProcessState
	}()
	for deadline := time.Now().Add(patience); !strings.Contains(r.stderr.String(), "Ctrl-C ends it"); {
		select {
		case <-r.ended:
			return nil, fmt.Errorf("the recorder has ended: %s", r.stderr)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the recorder has not begun: %s", r.stderr)
		}
	}
	return r, nil
}

// interrupt ends the recorder as Ctrl-C does. It must succeed then. One that has ended is left alone.
func (r *recorder) interrupt() error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("interrupting the recorder: %w", err)
	}
	select {
	case <-r.ended:
	case <-time.After(patience):
		return fmt.Errorf("the recorder does not end: %s", r.stderr)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the recorder ended with %d: %s", code, r.stderr)
	}
	return nil
}

// signal sends a signal to the recorder, and waits for its end.
func (r *recorder) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Fatalf("the recorder does not end:\n%s", r.stderr)
	}
}

// event is a line of `replay -o watch`.
type event struct {
	Type   string
	Object metav1.PartialObjectMetadata
}

// events reads the recording with the plugin, and returns what it printed besides.
func (r *recorder) events(ctx context.Context, t *testing.T, program string) (events []event, said string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, program, "replay", r.file, "-o", "watch")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Errorf("reading %s: %v\n%s", filepath.Base(r.file), err, &errOut)
	}
	for decoder := json.NewDecoder(&out); ; {
		var one event
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return events, errOut.String()
		}
		if err != nil {
			t.Fatalf("reading %s: %v", filepath.Base(r.file), err)
		}
		events = append(events, one)
	}
}

// versions returns the resource versions of objects.
func versions(events []event) map[string]bool {
	out := map[string]bool{}
	for i := range events {
		out[events[i].Object.ResourceVersion] = true
	}
	return out
}

func start(t *testing.T, o realcluster.Options) (context.Context, *realcluster.Cluster, string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it ends before the cleanup
	program, err := realcluster.BuildPlugin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	o.Log = t.Logf
	cluster, err := realcluster.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	return ctx, cluster, program
}
