package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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

// lateness measures by how much a timer is late, at most: that much others may be late, too, on a busy machine.
type lateness struct {
	mu      sync.Mutex
	longest time.Duration
}

// measure measures until ctx ends.
func (l *lateness) measure(ctx context.Context) {
	const step = 5 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		pause(step)
		l.mu.Lock()
		l.longest = max(l.longest, time.Since(began)-step)
		l.mu.Unlock()
	}
}

// reset returns the longest lateness since the last call.
func (l *lateness) reset() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.longest
	l.longest = 0
	return out
}

// isLong reports whether the tests are to take their time.
func isLong() bool { return os.Getenv("RECORDING_LONG") != "" }

// kills returns how often something is killed: the second number with RECORDING_LONG.
func kills(short, long int) int {
	if isLong() {
		return long
	}
	return short
}

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

// TestKilledRecorder: a recorder is killed at random moments. Every file can be read, and has all that was answered
// until a second before.
func TestKilledRecorder(t *testing.T) {
	ctx, cluster, program := start(t, realcluster.Options{})
	w := startWriter(ctx, t, cluster, 5*time.Millisecond)
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	recorderKills, compared, latest := kills(8, 50), 0, time.Duration(0)
	var late lateness
	measuring, stop := context.WithCancel(ctx)
	defer stop()
	go late.measure(measuring)
	for n := range recorderKills {
		r := record(ctx, t, program, cluster.Kubeconfig(), filepath.Join(dir, fmt.Sprintf("%d.krec", n)), "configmaps")
		began := time.Now()
		late.reset()
		pause(2*mayBeLost + time.Duration(random.Int64N(int64(1500*time.Millisecond))))
		killed := time.Now()
		r.signal(t, os.Kill)
		lost := mayBeLost + 3*late.reset() // of the recorder, its ticker and the server
		events, _ := r.events(ctx, t, program)
		has := versions(events)
		for _, version := range w.between(began, killed.Add(-lost)) {
			compared++
			if !has[version] {
				t.Errorf("recording %d, killed after %s, lacks version %s, which was answered %s before", n, killed.Sub(began), version,
					killed.Sub(w.at(version)))
			}
		}
		last := time.Duration(0)
		for _, version := range w.between(began, killed) {
			if !has[version] {
				last = max(last, killed.Sub(w.at(version)))
			}
		}
		latest = max(latest, last)
	}
	if compared < recorderKills {
		t.Errorf("only %d writes were compared", compared)
	}
	t.Logf("%d kills, %d writes compared; at most the last %s were lost", recorderKills, compared, latest)
}

// at returns when a version was answered.
func (w *writer) at(version string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.writes {
		if one.version == version {
			return one.at
		}
	}
	return time.Time{}
}

// audited is what the audit log has of a write.
type audited struct {
	Verb           string
	StageTimestamp time.Time
	ObjectRef      struct{ Resource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	ResponseObject struct {
		Metadata struct{ ResourceVersion string }
	}
}

// auditLog returns the writes of ConfigMaps that the API server has done.
func auditLog(t *testing.T, cluster *realcluster.Cluster) []audited {
	t.Helper()
	data, err := os.ReadFile(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	var out []audited
	for line := range bytes.Lines(data) {
		var one audited
		if err := json.Unmarshal(line, &one); err != nil {
			continue // a server that is killed may have written a part of a line
		}
		if one.ObjectRef.Resource == "configmaps" && one.ResponseStatus.Code < 300 && one.Verb != "delete" {
			out = append(out, one)
		}
	}
	return out
}

// TestKilledAPIServer: the API server is killed under a recorder. What the audit log has and the recording lacks is in a
// gap, in which the recording says that events are lost.
func TestKilledAPIServer(t *testing.T) {
	ctx, cluster, program := start(t, realcluster.Options{AuditBodies: true})
	startWriter(ctx, t, cluster, 10*time.Millisecond)
	file := filepath.Join(t.TempDir(), "servers.krec")
	r := record(ctx, t, program, cluster.Kubeconfig(), file, "-A")
	began := time.Now()
	random := rand.New(rand.NewPCG(3, 4))
	var outages []span
	serverKills := kills(3, 10)
	for range serverKills {
		pause(time.Second + time.Duration(random.Int64N(int64(2*time.Second))))
		one := span{from: time.Now()}
		if err := cluster.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		pause(time.Duration(random.Int64N(int64(2 * time.Second))))
		if err := cluster.RestartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		awaitRecorded(ctx, t, cluster, r, program)
		one.to = time.Now()
		outages = append(outages, one)
	}
	pause(2 * time.Second)
	end := time.Now()
	pause(2 * time.Second)
	r.signal(t, os.Interrupt)
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the recorder ended with %d:\n%s", code, r.stderr)
	}
	said := r.stderr.String()
	gaps := gapsOf(t, said, began)
	for i, o := range outages {
		if !slices.ContainsFunc(gaps, o.overlaps) {
			t.Errorf("no gap is said of outage %d, from %s to %s:\n%s", i, o.from, o.to, said)
		}
	}
	for _, gap := range gaps {
		if !slices.ContainsFunc(outages, gap.overlaps) {
			t.Errorf("a gap is said from %s to %s, and the server was there:\n%s", gap.from, gap.to, said)
		}
	}
	events, _ := r.events(ctx, t, program)
	has := versions(events)
	log := auditLog(t, cluster)
	compared, missing := 0, 0
	for i := range log {
		one := &log[i]
		if one.StageTimestamp.Before(began) || one.StageTimestamp.After(end) {
			continue
		}
		compared++
		if has[one.ResponseObject.Metadata.ResourceVersion] {
			continue
		}
		missing++
		inOutage := false
		for _, o := range outages {
			inOutage = inOutage || one.StageTimestamp.After(o.from.Add(-time.Second)) && one.StageTimestamp.Before(o.to)
		}
		if !inOutage {
			t.Errorf("%s of %s at %s is not recorded, and the server was there", one.Verb, one.ObjectRef.Name, one.StageTimestamp)
		}
	}
	if compared < 100 {
		t.Errorf("only %d writes were compared", compared)
	}
	sameAtEnd(ctx, t, cluster.Config(), events)
	t.Logf("%d outages, %d writes compared, %d of them only as a later version in a new list:\n%s",
		serverKills, compared, missing, said)
}

// span is a time without a server.
type span struct{ from, to time.Time }

func (s span) overlaps(other span) bool { return s.from.Before(other.to) && other.from.Before(s.to) }

// saidGap is how a gap is printed: the time of the day, and how long it was.
var saidGap = regexp.MustCompile(`(?m)^gap at (\d\d:\d\d:\d\d) for (\S+):`)

// gapsOf returns the gaps that a recorder has printed, which are after a time. An outage may begin before all of the one
// before is over: then both are one gap.
func gapsOf(t *testing.T, said string, after time.Time) []span {
	t.Helper()
	var out []span
	for _, m := range saidGap.FindAllStringSubmatch(said, -1) {
		from, err := time.ParseInLocation("2006-01-02 15:04:05", after.Format("2006-01-02 ")+m[1], time.Local)
		if err != nil {
			t.Fatal(err)
		}
		long, err := time.ParseDuration(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if from.Before(after.Truncate(time.Second)) {
			from = from.AddDate(0, 0, 1) // it was midnight
		}
		out = append(out, span{from, from.Add(long + time.Second)}) // the time is printed without fractions
	}
	return out
}

// awaitRecorded waits until the recorder has an object that is made now.
func awaitRecorded(ctx context.Context, t *testing.T, cluster *realcluster.Cluster, r *recorder, program string) {
	t.Helper()
	config := cluster.Config()
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	name := fmt.Sprintf("probe-%d", time.Now().UnixNano())
	for deadline := time.Now().Add(patience); ; pause(100 * time.Millisecond) {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(patience); ; pause(500 * time.Millisecond) {
		events, _ := r.events(ctx, t, program)
		for i := range events {
			if events[i].Object.Name == name {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the recorder does not come back:\n%s", r.stderr)
		}
	}
}

// sameAtEnd checks that the last state of each ConfigMap that the writer does not change any more is that of the server.
func sameAtEnd(ctx context.Context, t *testing.T, config *rest.Config, events []event) {
	t.Helper()
	last := map[string]string{}
	for i := range events {
		o := &events[i].Object
		if o.Kind != "ConfigMap" || o.Namespace != metav1.NamespaceDefault || !strings.HasPrefix(o.Name, "probe-") {
			continue
		}
		last[o.Name] = o.ResourceVersion
		if events[i].Type == "DELETED" {
			delete(last, o.Name)
		}
	}
	list, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		if strings.HasPrefix(m.Name, "probe-") && last[m.Name] != m.ResourceVersion {
			t.Errorf("%s has version %s, and %q in the recording", m.Name, m.ResourceVersion, last[m.Name])
		}
	}
}
