package interaction

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Recorder is a sink of a trace that makes a Graph of it. Its memory is bounded but for the numbers of controllers,
// kinds and fields. All its methods may be called concurrently.
type Recorder struct {
	mu          sync.Mutex // guards all below
	controllers map[nodeKey]*node
	open        recent.Map[trace.ReconcileID, *running]
	// sent are the writes whose version no watch event has shown, and shown the fields of versions that no request has
	// named: either may come first.
	sent  recent.Map[string, *Requests]
	shown recent.Map[string, []fields.Change]
	// writers are who wrote a field last; contested are the fields that another has written next.
	writers   recent.Map[fieldOfObject, string]
	contested map[fieldOfKind]*Lint
}

var _ trace.Sink = (*Recorder)(nil)

// nodeKey names a controller, or a program outside, which may have the name of one.
type nodeKey struct {
	name    string
	program bool
}

// node is what is known of a controller or a program.
type node struct {
	reconciles int
	watched    map[Kind]*watched
	requests   map[requestSort]*Requests
	own        map[Kind]*Lint
	unowned    map[Kind]int
}

type watched struct {
	reconciles int
	by         map[Writer]int
}

// requestSort is what requests have in common that are counted as one.
type requestSort struct {
	of                Kind
	subresource, verb string
}

// running is a reconcile that has not ended.
type running struct {
	ownOnly bool // it followed nothing but writes of its controller, the first of own
	own     Kind
}

type fieldOfObject struct {
	of                     Kind
	namespace, name, field string
}

type fieldOfKind struct {
	of    Kind
	field string
}

// NewRecorder returns a Recorder that has seen nothing.
func NewRecorder() *Recorder {
	return &Recorder{
		controllers: map[nodeKey]*node{}, contested: map[fieldOfKind]*Lint{},
		sent:  recent.Map[string, *Requests]{Capacity: maxApart},
		shown: recent.Map[string, []fields.Change]{Capacity: maxApart},
	}
}

// Record implements trace.Sink.
func (r *Recorder) Record(e *trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Watch:
		if d.Event == trace.Modified {
			writer := d.Writer
			if d.WrittenBy == 0 {
				writer = d.Manager.Name()
			}
			r.wrote(&d.Object, writer, d.Change.Fields())
			r.modified(d)
		}
	case *trace.Start:
		r.start(e, d)
	case *trace.Request:
		if e.Controller != "" {
			r.request(nodeKey{name: e.Controller}, d)
		}
	case *trace.ClientRequest:
		r.clientRequest(d)
	case *trace.End:
		r.end(e, d)
	}
}

// clientRequest counts a request of a program outside. What it watches is known by its requests.
func (r *Recorder) clientRequest(d *trace.ClientRequest) {
	key := nodeKey{name: d.Program, program: true}
	if r.controllers[key] == nil && len(r.controllers) >= maxNodes {
		return
	}
	n := r.node(key)
	if kind := kindOf(&d.Object); d.Verb == "watch" && n.watched[kind] == nil && !d.Failed() {
		n.watched[kind] = &watched{}
	}
	r.request(key, &d.Request)
}

const (
	// maxApart is how many versions may be written or shown between a request and its watch event.
	maxApart = 2048
	// maxNodes bounds the controllers and programs, and maxContested the fields that several have written. What comes
	// later is left out.
	maxNodes     = 200
	maxContested = 1000
)

func (r *Recorder) node(key nodeKey) *node {
	n := r.controllers[key]
	if n == nil {
		n = &node{
			watched: map[Kind]*watched{}, requests: map[requestSort]*Requests{},
			own: map[Kind]*Lint{}, unowned: map[Kind]int{},
		}
		r.controllers[key] = n
	}
	return n
}

// kindOf returns the kind of an object in a trace.
func kindOf(o *trace.Object) Kind { return Kind{Group: o.Group, Kind: cmp.Or(o.Kind, o.Resource)} }

// start counts a reconcile by what led to it.
func (r *Recorder) start(e *trace.Event, start *trace.Start) {
	n := r.node(nodeKey{name: e.Controller})
	n.reconciles++
	run := &running{ownOnly: len(start.Causes) > 0 && start.MoreCauses == 0}
	seen := map[Kind]map[Writer]bool{}
	for i := range start.Causes {
		w := start.Causes[i].Watch
		if start.Causes[i].Type != trace.CauseWatch || w == nil || w.Event == trace.Resync {
			run.ownOnly = false
			continue
		}
		kind, by := kindOf(&w.Object), Writer{Name: w.Writer}
		if w.WrittenBy == 0 {
			by = Writer{Name: w.Manager.Name(), Outside: w.Manager.Name() != ""}
		}
		run.ownOnly = run.ownOnly && by.Name == e.Controller && !by.Outside
		if run.own.Kind == "" {
			run.own = kind
		}
		if seen[kind] == nil {
			seen[kind] = map[Writer]bool{}
		}
		seen[kind][by] = true
	}
	for kind, writers := range seen {
		w := n.watched[kind]
		if w == nil {
			w = &watched{by: map[Writer]int{}}
			n.watched[kind] = w
		}
		w.reconciles++
		for by := range writers {
			w.by[by]++
		}
	}
	r.open.Put(e.Reconcile, run)
}

func (r *Recorder) end(e *trace.Event, end *trace.End) {
	run, ok := r.open.Get(e.Reconcile)
	r.open.Delete(e.Reconcile)
	if !ok || !run.ownOnly {
		return
	}
	n := r.node(nodeKey{name: e.Controller})
	if n.own[run.own] == nil {
		n.own[run.own] = &Lint{Type: OwnWrites, Controller: e.Controller, Of: &run.own}
	}
	n.own[run.own].Count++
	if end.Writes+end.Refused == 0 {
		n.own[run.own].Idle++
	}
}

// request counts a request. A path without a version is one of discovery. The dry runs of programs outside write
// nothing, as those of a session do that is one.
func (r *Recorder) request(by nodeKey, q *trace.Request) {
	if q.Verb == "watch" || q.Version == "" || q.IsWrite() && (!q.ChangesObjects() || by.program && q.DryRun) {
		return
	}
	n := r.node(by)
	key := requestSort{kindOf(&q.Object), q.Subresource, q.Verb}
	all := n.requests[key]
	if all == nil {
		all = &Requests{Kind: key.of, Subresource: q.Subresource, Verb: q.Verb}
		n.requests[key] = all
	}
	switch {
	case q.IsConflict():
		all.Conflicts++
		return
	case q.Failed() && !q.IsWrite() && q.Code == http.StatusNotFound:
		all.Missing++
		return
	case q.Failed():
		all.Refused++
		return
	}
	all.Requests++
	switch {
	case q.CreatesObject():
		if !by.program { // whose field manager has another name
			r.wrote(&q.Object, by.name, q.Change.Fields())
		}
		if q.Owner == "" && q.UID != "" { // else the object is not known
			n.unowned[key.of]++
		}
	case q.DryRun: // which no watch event follows
		all.addFields(q.Change.Fields())
	case q.IsWrite():
		version := versionOf(&q.Object, q.ResourceVersion)
		if changes, ok := r.shown.Get(version); ok {
			all.addFields(changes)
		} else {
			r.sent.Put(version, all)
		}
	}
}

// versionOf names a version of an object of a kind.
func versionOf(o *trace.Object, version string) string { return kindOf(o).String() + "/" + version }

// modified adds the fields of a change to the requests that made it: the request itself is compared with a version that
// may be older than the one before.
func (r *Recorder) modified(w *trace.Watch) {
	version := versionOf(&w.Object, w.ResourceVersion)
	if all, ok := r.sent.Get(version); ok {
		all.addFields(w.Change.Fields())
		r.sent.Delete(version)
	} else {
		r.shown.Put(version, w.Change.Fields())
	}
}

func (q *Requests) addFields(changes []fields.Change) {
	for _, c := range changes {
		field := outline(c.Path)
		if field == generation {
			continue
		}
		if i, known := slices.BinarySearch(q.Fields, field); !known {
			q.Fields = slices.Insert(q.Fields, i, field)
		}
	}
}

// generation is the path of a field that the server sets.
const generation = "metadata.generation"

// outline returns a path without what is below its second name, or is an entry of a list or a map.
func outline(path string) string {
	path, _, _ = strings.Cut(path, "[")
	if name, _, _ := strings.Cut(path, "."); slices.Contains([]string{"data", "stringData", "binaryData"}, name) {
		return name
	}
	if names := strings.SplitN(path, ".", 3); len(names) == 3 {
		return names[0] + "." + names[1]
	}
	return path
}

// wrote notes who has written the fields of an object.
func (r *Recorder) wrote(o *trace.Object, writer string, changes []fields.Change) {
	kind := kindOf(o)
	if writer == "" {
		return
	}
	hasHeartbeats := findings.HasHeartbeats(schema.GroupKind(kind))
	for _, c := range changes {
		if c.Path == generation || strings.HasPrefix(c.Path, "metadata.deletion") || findings.IsHeartbeat(c.Path) ||
			hasHeartbeats && strings.HasPrefix(c.Path, "status") {
			continue
		}
		key := fieldOfObject{kind, o.Namespace, o.Name, c.Path}
		last, known := r.writers.Get(key)
		r.writers.Put(key, writer)
		if !known || last == writer {
			continue
		}
		field := fieldOfKind{kind, c.Path}
		if r.contested[field] == nil {
			if len(r.contested) >= maxContested {
				continue
			}
			r.contested[field] = &Lint{
				Type: SeveralWriters, Of: &kind, Field: c.Path,
				Example: strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"),
			}
		}
		lint := r.contested[field]
		lint.Count++
		lint.Writers = findings.AddName(findings.AddName(lint.Writers, last), writer)
	}
}

// Graph returns the graph of what was recorded so far. watches are the kinds whose events each controller handles, by
// its name; nil if that is not known, then the graph has those of which events came, and no lints of reads.
func (r *Recorder) Graph(watches map[string][]schema.GroupKind) Graph {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, kinds := range watches {
		for _, k := range kinds {
			if n := r.node(nodeKey{name: name}); n.watched[Kind(k)] == nil {
				n.watched[Kind(k)] = &watched{}
			}
		}
	}
	out := Graph{Controllers: []Controller{}}
	for _, key := range slices.SortedFunc(maps.Keys(r.controllers), nodeKey.compare) {
		n := r.controllers[key]
		c := Controller{Name: key.name, Program: key.program, Reconciles: n.reconciles}
		for _, kind := range slices.SortedFunc(maps.Keys(n.watched), compareKinds) {
			c.Watches = append(c.Watches, n.watched[kind].list(kind))
		}
		for _, q := range n.requests {
			one := *q
			one.Fields = slices.Clone(q.Fields)
			if isRead := q.Verb == "get" || q.Verb == "list"; isRead {
				c.Reads = append(c.Reads, one)
			} else {
				c.Writes = append(c.Writes, one)
			}
		}
		sort.Slice(c.Reads, func(i, j int) bool { return compareRequests(c.Reads[i], c.Reads[j]) < 0 })
		sort.Slice(c.Writes, func(i, j int) bool { return compareRequests(c.Writes[i], c.Writes[j]) < 0 })
		out.Controllers = append(out.Controllers, c)
	}
	out.Lints = r.lints(out.Controllers, watches != nil)
	return out
}

func (k nodeKey) compare(o nodeKey) int {
	return cmp.Or(cmp.Compare(k.name, o.name), map[bool]int{true: 1}[k.program]-map[bool]int{true: 1}[o.program])
}

func (w *watched) list(kind Kind) Watched {
	out := Watched{Kind: kind, Reconciles: w.reconciles}
	for by, n := range w.by {
		by.Reconciles = n
		out.By = append(out.By, by)
	}
	sort.Slice(out.By, func(i, j int) bool {
		a, b := &out.By[i], &out.By[j]
		return cmp.Or(cmp.Compare(b.Reconciles, a.Reconciles),
			nodeKey{a.Name, a.Outside}.compare(nodeKey{b.Name, b.Outside})) < 0
	})
	return out
}

func compareRequests(a, b Requests) int {
	return cmp.Or(compareKinds(a.Kind, b.Kind), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb))
}
