package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
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

// kills returns how often something is killed: the second number with RECORDING_LONG.
func kills(short, long int) int {
	if isLong() {
		return long
	}
	return short
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
