package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// memory is a sink that keeps the records.
type memory struct {
	t testing.TB

	mu      sync.Mutex
	records []*replay.Record
	changed chan struct{} // closed and replaced when there is another record
	refuses error         // what Write returns
}

func newMemory(t testing.TB) *memory { return &memory{t: t, changed: make(chan struct{})} }

// Write implements replay.Sink.
func (m *memory) Write(r *replay.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses != nil {
		return m.refuses
	}
	r.Number = int64(len(m.records) + 1)
	m.records = append(m.records, r)
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// all returns the records so far.
func (m *memory) all() []*replay.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.records)
}

// await waits until the records are as wanted.
func (m *memory) await(what string, wanted func([]*replay.Record) bool) {
	m.t.Helper()
	deadline := time.After(patience)
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		if wanted(m.all()) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			m.t.Fatalf("waiting for %s:\n%s", what, strings.Join(lines(m.all()), "\n"))
		}
	}
}

// awaitLine waits for a record with that line.
func (m *memory) awaitLine(line string) {
	m.t.Helper()
	m.await(line, func(records []*replay.Record) bool { return hasLine(records, line) })
}

func hasLine(records []*replay.Record, line string) bool {
	for _, r := range records {
		if lineOf(r) == line {
			return true
		}
	}
	return false
}

// lineOf describes a record without what differs each time.
func lineOf(r *replay.Record) string {
	line := r.Type.String()
	switch r.Type {
	case replay.TypeStream:
		return line + " " + r.NewStream.Resource
	case replay.TypeGap:
		return fmt.Sprintf("%s %s complete=%t", line, r.Gap.Reason, r.Gap.Complete)
	case replay.TypeEnd:
		return line + " " + r.Message
	}
	if r.Name != "" {
		line += " " + r.Name
	}
	if r.Relisted {
		line += " relisted"
	}
	return line
}

func lines(records []*replay.Record) []string {
	var out []string
	for _, r := range records {
		if r.Type != replay.TypeBookmark && r.Type != replay.TypeAlive {
			out = append(out, lineOf(r))
		}
	}
	return out
}

// shiftedClock is the real clock, set forward.
type shiftedClock struct {
	clock.RealClock
	mu    sync.Mutex
	shift time.Duration
}

// Now implements clock.Clock.
func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RealClock.Now().Add(c.shift)
}

func (c *shiftedClock) set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift = d
}

// network is the way to a server, which can be cut.
type network struct {
	mu sync.Mutex
	// down refuses connections.
	down bool
	// intercept may answer a request in place of the server; nil to let it through.
	intercept func(*http.Request) *http.Response
	open      map[*body]bool
	requests  []string
}

var errDown = errors.New("connect: connection refused")

// way is the way to next over a network: each client has one.
type way struct {
	*network
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n way) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	down, intercept := n.down, n.intercept
	n.requests = append(n.requests, req.URL.RequestURI())
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	if intercept != nil {
		if resp := intercept(req); resp != nil {
			return resp, nil
		}
	}
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := n.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	b := &body{ReadCloser: resp.Body, cancel: cancel, network: n.network}
	resp.Body = b
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[b] = true
	return resp, nil
}

// body is that of an answer; cut makes reading from it fail, or end if clean.
type body struct {
	io.ReadCloser
	cancel     context.CancelFunc
	network    *network
	mu         sync.Mutex
	cut, clean bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cut && b.clean:
		return 0, io.EOF
	case b.cut:
		return 0, errors.New("connection reset by peer")
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.network.mu.Lock()
	delete(b.network.open, b)
	b.network.mu.Unlock()
	b.cancel()
	return b.ReadCloser.Close()
}

// end ends all answers, as a server that closes its watches, or as one that is killed if clean is false.
func (n *network) end(clean bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for b := range n.open {
		b.mu.Lock()
		b.cut, b.clean = true, clean
		b.mu.Unlock()
		b.cancel()
	}
}

func (n *network) set(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *network) answer(intercept func(*http.Request) *http.Response) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.intercept = intercept
}

func (n *network) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.requests...)
}

// respond is an answer with a Status.
func respond(code int, reason metav1.StatusReason) *http.Response {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
}

// kind returns a kind of the core group.
func kind(name, resource string, namespaced bool) cluster.Kind {
	out := cluster.Kind{Resource: resource, Namespaced: namespaced, Verbs: []string{"list", "watch"}}
	out.Kind, out.Version = name, "v1"
	return out
}

func selection(k cluster.Kind, namespace string) Selection {
	return Selection{Target: cluster.Target{Kind: k, Namespace: namespace}}
}

var (
	configMaps = kind("ConfigMap", "configmaps", true)
	secrets    = kind("Secret", "secrets", true)
)

// recording is a Recorder that runs on a server of its own.
type recording struct {
	*Recorder
	t       testing.TB
	sink    *memory
	network *network
	clock   *shiftedClock
	client  kubernetes.Interface
	ended   chan error
	stop    context.CancelFunc
	config  *rest.Config
	runs    func([]Selection)
}

// record starts to record ConfigMaps and what else is asked for, in the namespace default.
func record(t testing.TB, change func(*Options), others ...Selection) *recording {
	t.Helper()
	r := prepare(t, change)
	r.start(append([]Selection{selection(configMaps, "default")}, others...)...)
	return r
}

func prepare(t testing.TB, change func(*Options)) *recording {
	t.Helper()
	server := servers.Server(t, nil)
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{
		t: t, sink: newMemory(t), network: &network{open: map[*body]bool{}}, clock: &shiftedClock{}, client: client,
		ended: make(chan error, 1),
	}
	options := Options{Sink: r.sink, Clock: r.clock}
	if change != nil {
		change(&options)
	}
	if r.Recorder, err = New(options); err != nil {
		t.Fatal(err)
	}
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return way{r.network, next} })
	ctx, cancel := context.WithCancel(t.Context())
	r.stop, r.config = cancel, config
	r.runs = func(s []Selection) {
		go func() {
			defer close(r.ended)
			r.ended <- r.Run(ctx, config, s)
		}()
	}
	t.Cleanup(func() {
		r.stop()
		for range r.ended { // until it is closed
		}
	})
	return r
}

func (r *recording) start(s ...Selection) {
	r.t.Helper()
	r.runs(s)
	select {
	case <-r.Started():
	case <-time.After(patience):
		r.t.Fatal("the recorder has not started")
	}
	waitUntil(r.t, "the watches", func() bool {
		stats := r.Stats()
		return stats.Watching == stats.Streams
	})
}

// write creates, changes or deletes ConfigMaps: "+a" creates a, "~a" changes it, "-a" deletes it.
func (r *recording) write(changes ...string) {
	r.t.Helper()
	maps := r.client.CoreV1().ConfigMaps("default")
	for _, change := range changes {
		name := change[1:]
		var err error
		switch change[0] {
		case '+':
			_, err = maps.Create(r.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		case '~':
			var now *corev1.ConfigMap
			if now, err = maps.Get(r.t.Context(), name, metav1.GetOptions{}); err == nil {
				now.Data = map[string]string{"version": now.ResourceVersion}
				_, err = maps.Update(r.t.Context(), now, metav1.UpdateOptions{})
			}
		case '-':
			err = maps.Delete(r.t.Context(), name, metav1.DeleteOptions{})
		}
		if err != nil {
			r.t.Fatalf("%s: %v", change, err)
		}
	}
}

// end ends the recording, and checks what every one must be.
func (r *recording) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.t.Errorf("the recorder failed: %v", err)
	}
	if err := r.End("interrupted"); err != nil {
		r.t.Error(err)
	}
	var last time.Time
	for _, record := range r.sink.all() {
		if record.Time.Before(last) {
			r.t.Errorf("record %d is before the one before", record.Number)
		}
		last = record.Time
	}
}

// state is what is known at the end of the records.
func state(records []*replay.Record) *replay.State {
	s := &replay.State{}
	for _, r := range records {
		s.Apply(r)
	}
	return s
}
