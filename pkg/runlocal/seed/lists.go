package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// reading is a copy while it is read. Its steps run one after another, each with requests in parallel: mu guards what
// is below it while they run.
type reading struct {
	o          *Options
	limit      int
	namespaces []string // to be copied; those of a copy of all are known only when they are read
	cancel     context.CancelCauseFunc
	at         string // the resource version at which lists are read; empty for the latest

	mu         sync.Mutex
	objects    map[key]Object
	uids       map[types.UID]bool
	version    uint64
	listed     int // lists of namespaced kinds that were read
	incomplete []cluster.Incomplete
	leftOut    []LeftOut
	usage      *Usage
	neighbours []*corev1.Pod

	related   *related     // nil if all workloads are read
	unrelated map[key]bool // what was read and belongs to workloads that are not
	skipped   int          // Copy.Unrelated
	absent    []Root       // Copy.AbsentOwners
}

func newReading(o *Options) *reading {
	r := &reading{o: o, limit: o.MaxObjects, objects: map[key]Object{}, uids: map[types.UID]bool{}}
	if r.limit == 0 {
		r.limit = DefaultMaxObjects
	}
	r.namespaces = slices.Clone(o.Namespaces)
	for _, root := range o.Roots {
		switch {
		case root.Kind.Namespaced:
			r.namespaces = append(r.namespaces, root.Namespace)
		case root.Kind.GroupResource() == namespaces:
			r.namespaces = append(r.namespaces, root.Name)
		}
	}
	slices.Sort(r.namespaces)
	r.namespaces = slices.Compact(r.namespaces)
	if o.restricted() {
		r.related = newRelated()
	}
	r.incomplete = o.Kinds.Incomplete()
	return r
}

// do runs a step, which ends when the limit of objects is reached.
func (r *reading) do(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.cancel = cancel
	err := step(ctx)
	if tooMany := (*TooManyObjectsError)(nil); errors.As(context.Cause(ctx), &tooMany) {
		return tooMany
	}
	return cmp.Or(err, context.Cause(ctx))
}

// readScope reads the namespaces, all lists, and the roots that are in none of them. The lists are those of a single
// state, if the server still has it: what a controller does in between is in the copy whole, or not at all. That does
// not hold of what is read one by one, such as few workloads for Options.Related, which may be newer.
func (r *reading) readScope(ctx context.Context) error {
	r.at = r.newest(ctx)
	var running sync.WaitGroup
	var workloads []cluster.Target
	for _, target := range r.targets() {
		if r.related != nil && target.Kind.Namespaced && isWorkload(target.Kind.GroupResource()) {
			workloads = append(workloads, target)
		} else {
			running.Go(func() { r.list(ctx, target, nil) })
		}
	}
	if r.related != nil {
		running.Go(func() { r.listMembers(ctx, workloads) })
	}
	var mu sync.Mutex
	var absent *NotFoundError
	for _, root := range r.single() {
		running.Go(func() {
			if err := r.get(ctx, root.Kind, root.Namespace, root.Name); apierrors.IsNotFound(err) {
				mu.Lock()
				defer mu.Unlock()
				if absent == nil || root.Name < absent.Name {
					absent = &NotFoundError{root}
				}
			}
		})
	}
	running.Wait()
	if r.related != nil && absent == nil && ctx.Err() == nil {
		r.readRelated(ctx, workloads)
	}
	switch {
	case absent != nil:
		return absent
	case r.listed == 0 && len(r.incomplete) > 0 && ctx.Err() == nil:
		return &UnreadableError{cluster.SortIncomplete(r.incomplete)}
	}
	return nil
}

// single returns the objects that are read one by one: the namespaces, and the roots that no list has.
func (r *reading) single() []Root {
	var out []Root
	if kind, ok := r.kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}); ok && !r.o.AllNamespaces {
		for _, name := range r.namespaces {
			out = append(out, Root{Kind: kind, Name: name})
		}
	}
	for _, root := range r.o.Roots {
		switch resource := root.Kind.GroupResource(); {
		case !root.Kind.Namespaced && resource != namespaces:
			out = append(out, Root{Kind: r.decodable(root.Kind), Name: root.Name})
		case NeverRead(resource):
			out = append(out, root)
		}
	}
	return out
}

// kind returns a kind that the cluster serves.
func (r *reading) kind(gvk schema.GroupVersionKind) (cluster.Kind, bool) {
	kind, ok, err := r.o.Kinds.Lookup(gvk)
	return kind, ok && err == nil
}

// newest returns the resource version of a list, of a kind of which there are few; empty if that cannot be read.
func (r *reading) newest(ctx context.Context) string {
	kind, ok := r.kind(schema.GroupVersionKind{Version: "v1", Kind: "LimitRange"})
	if !ok {
		return ""
	}
	target := cluster.Target{Kind: kind}
	if !r.o.AllNamespaces && len(r.namespaces) > 0 {
		target.Namespace = r.namespaces[0]
	}
	version, err := r.o.Reader.ListJSON(ctx, target, cluster.ListOptions{},
		func(json.RawMessage) error { return nil })
	if err != nil {
		return "" // it is read again with the others
	}
	return version
}

// list reads a list, and adds the objects with one of the names; nil is all. What cannot be read is recorded.
func (r *reading) list(ctx context.Context, target cluster.Target, names map[string]bool) {
	version, err := r.o.Reader.ListJSON(ctx, target, cluster.ListOptions{At: r.at}, func(data json.RawMessage) error {
		var h header
		if err := json.Unmarshal(data, &h); err != nil || names != nil && !names[h.Metadata.Name] {
			return err
		}
		return r.addWith(&h, target.Kind, data)
	})
	if err != nil {
		r.fail(ctx, target, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raise(version)
	if target.Kind.Namespaced && target.Kind.GroupResource() != leases {
		r.listed++
	}
}

// get reads one object. An error is recorded, unless it is that the object does not exist, and returned.
func (r *reading) get(ctx context.Context, kind cluster.Kind, namespace, name string) error {
	data, err := r.o.Reader.ObjectJSON(ctx, kind, namespace, name)
	if err == nil {
		err = r.add(kind, data)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		r.fail(ctx, cluster.Target{Kind: kind, Namespace: namespace}, err)
	}
	return err
}

// fail records that a target could not be read, unless that is because ctx has ended.
func (r *reading) fail(ctx context.Context, target cluster.Target, err error) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incomplete = append(r.incomplete, target.Incomplete(err))
}

// failed reports whether a kind could not be read.
func (r *reading) failed(resource schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Copy{Incomplete: r.incomplete}
	return c.Unread(resource)
}

// header is what Read itself looks at of an object.
type header struct {
	Metadata struct {
		Name            string                  `json:"name"`
		Namespace       string                  `json:"namespace"`
		UID             types.UID               `json:"uid"`
		ResourceVersion string                  `json:"resourceVersion"`
		Generation      int64                   `json:"generation"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
}

// add adds an object to the copy, in the place of an older version of it. It ends the step if there are too many.
func (r *reading) add(kind cluster.Kind, data json.RawMessage) error {
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	return r.addWith(&h, kind, data)
}

// addWith is add for an object whose header has been decoded.
func (r *reading) addWith(h *header, kind cluster.Kind, data json.RawMessage) error {
	if kind.GroupResource() == secrets && !r.o.WithSecrets {
		var err error
		if data, err = r.o.SecretDigest.hidden(data); err != nil {
			return err
		}
	}
	m := &h.Metadata
	object := Object{
		Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Generation: m.Generation, JSON: data, owners: m.OwnerReferences,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[object.key()] = object
	r.uids[object.UID] = true
	r.raise(m.ResourceVersion)
	if r.limit > 0 && len(r.objects) > r.limit {
		err := &TooManyObjectsError{Limit: r.limit, Most: mostOf(countKinds(maps.Values(r.objects)))}
		r.cancel(err)
		return err
	}
	return nil
}

// raise raises the copy's version to that of a list or object, if it is a number. r.mu must be held.
func (r *reading) raise(version string) { r.version = max(r.version, snapshot.VersionNumber(version)) }

// leaveOut records what is left out.
func (r *reading) leaveOut(l LeftOut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftOut = append(r.leftOut, l)
}

// result returns the copy, sorted.
func (r *reading) result() *Copy {
	c := &Copy{
		Namespaces: r.namespaces, AllNamespaces: r.o.AllNamespaces, ResourceVersion: r.version,
		Incomplete: cluster.SortIncomplete(r.incomplete), LeftOut: r.leftOut,
		Objects: slices.Collect(maps.Values(r.objects)), Usage: r.usage, Neighbours: r.neighbours,
		ServiceRanges: r.guessRanges(), Unrelated: r.skipped,
	}
	sort.Slice(c.Objects, func(i, j int) bool { return compareObjects(&c.Objects[i], &c.Objects[j]) < 0 })
	bare := 0
	c.index = make(map[key]int, len(c.Objects))
	for i := range c.Objects {
		c.index[c.Objects[i].key()] = i
		switch c.Objects[i].Kind.GroupResource() {
		case namespaces:
			if r.o.AllNamespaces {
				c.Namespaces = append(c.Namespaces, c.Objects[i].Name)
			}
		case secrets:
			bare++
		}
	}
	if bare > 0 && !r.o.WithSecrets {
		c.LeftOut = append(c.LeftOut, LeftOut{
			Resource: secrets.Resource, Objects: bare, Reason: ReasonSecret, Message: "their data stays in the cluster",
		})
	}
	sort.Slice(c.LeftOut, func(i, j int) bool { return c.LeftOut[i].compare(c.LeftOut[j]) < 0 })
	return c
}

// mostOf returns the kinds with the most objects, the largest first.
func mostOf(counts []KindCount) []KindCount {
	sort.SliceStable(counts, func(i, j int) bool {
		a, b := &counts[i], &counts[j]
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), a.Kind.Compare(b.Kind)) < 0
	})
	return counts[:min(len(counts), 3)]
}

// countKinds counts objects by kind, sorted by kind.
func countKinds(objects iter.Seq[Object]) []KindCount {
	counts := map[schema.GroupVersionResource]KindCount{}
	for o := range objects {
		c := counts[o.Kind.GVR()]
		counts[o.Kind.GVR()] = KindCount{o.Kind, c.Objects + 1}
	}
	out := slices.Collect(maps.Values(counts))
	sort.Slice(out, func(i, j int) bool { return out[i].Kind.Compare(out[j].Kind) < 0 })
	return out
}

// decodeJSON decodes JSON as unstructured objects have it: whole numbers are int64.
func decodeJSON(data []byte, into any) error { return utiljson.Unmarshal(data, into) }
