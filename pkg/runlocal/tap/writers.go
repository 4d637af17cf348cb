package tap

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// writers keeps which reconcile wrote a resourceVersion. The zero value is empty. Its methods may be called
// concurrently.
type writers struct {
	mu   sync.Mutex // guards byRV
	byRV recent.Map[uint64, writer]
}

// writer is a reconcile and its controller.
type writer struct {
	id         trace.ReconcileID
	controller string
}

func (w *writers) put(rv uint64, r *reconcile) {
	if rv == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byRV.Put(rv, writer{r.id, r.c.name})
}

// putIfAbsent is put for a version that an answer contained, which another may have written: the answer to the deletion
// of an object that is being deleted has the version of the first deletion.
func (w *writers) putIfAbsent(rv uint64, r *reconcile) {
	if w.get(rv) == (writer{}) {
		w.put(rv, r)
	}
}

// get returns the zero value for a version that no reconcile has written, or not recently.
func (w *writers) get(rv uint64) writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	by, _ := w.byRV.Get(rv)
	return by
}

// programs keeps which program outside sent the request that wrote a resourceVersion. The zero value is empty. Its
// methods may be called concurrently.
type programs struct {
	mu   sync.Mutex // guards byRV
	byRV recent.Map[uint64, string]
}

func (p *programs) put(rv uint64, program string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byRV.Put(rv, program)
}

// get returns the empty name for a version that no program has written, or not recently.
func (p *programs) get(rv uint64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	program, _ := p.byRV.Get(rv)
	return program
}

// managers keeps the managedFields of recent versions of objects that no reconcile of the session wrote, from the time
// an informer drops them until its handlers run. The zero value is empty. Its methods may be called concurrently.
type managers struct {
	mu        sync.Mutex // guards byVersion
	byVersion recent.Map[objectVersion, []metav1.ManagedFieldsEntry]
}

type objectVersion struct {
	uid     types.UID
	version string
}

// managersKept bounds the versions in a generation: managedFields are some kilobytes each.
const managersKept = 512

func (m *managers) put(obj metav1.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byVersion.Capacity = managersKept
	m.byVersion.Put(objectVersion{obj.GetUID(), obj.GetResourceVersion()}, obj.GetManagedFields())
}

func (m *managers) get(obj metav1.Object) []metav1.ManagedFieldsEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	fields, _ := m.byVersion.Get(objectVersion{obj.GetUID(), obj.GetResourceVersion()})
	return fields
}

// trim removes managedFields, which are a large part of an object and which no controller uses, before an informer
// stores it, as kube-controller-manager's informers do (cmd/kube-controller-manager/app/controllermanager.go).
func (t *Tap) trim(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil && m.GetManagedFields() != nil {
		if t.recording() && t.writers.get(snapshot.VersionNumber(m.GetResourceVersion())) == (writer{}) {
			t.managers.put(m)
		}
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// manager returns the field manager behind an event that no reconcile of the session wrote: of an addition the first
// manager, of a modification the owner of a field that has a new value. If fields were only removed, or if the object
// was deleted, it is the program that sent the request, if that is known.
func (t *Tap) manager(w *trace.Watch, obj metav1.Object) *trace.Manager {
	managed := t.managers.get(obj)
	program := t.programs.get(snapshot.VersionNumber(obj.GetResourceVersion()))
	if program != "" && (w.Event == trace.Deleted || w.Event == trace.Modified) {
		return trace.ManagerFrom(func() fields.Writer {
			by := t.externalManager(changer(managed, w.Change.Fields()))
			if by.Manager == "" {
				by = fields.Writer{Manager: program}
			}
			return by
		})
	}
	if len(managed) == 0 {
		return nil
	}
	switch w.Event {
	case trace.Added:
		return trace.ManagerFrom(func() fields.Writer { return t.externalManager(creator(managed)) })
	case trace.Modified:
		return trace.ManagerFrom(func() fields.Writer {
			return t.externalManager(changer(managed, w.Change.Fields()))
		})
	case trace.Deleted, trace.Resync:
	}
	return nil
}

// externalManager returns the manager, or the zero value if it may be a controller of the session.
func (t *Tap) externalManager(f metav1.ManagedFieldsEntry) fields.Writer {
	if f.Manager == t.fieldManager { // also "", which is not known
		return fields.Writer{}
	}
	return fields.Writer{Manager: f.Manager, Operation: string(f.Operation), Subresource: f.Subresource}
}

// creator returns the manager that wrote first; of several in one second, one that did not write a subresource.
func creator(fields []metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	return slices.MinFunc(fields, func(a, b metav1.ManagedFieldsEntry) int {
		if n := written(a).Compare(written(b)); n != 0 {
			return n
		}
		return strings.Compare(a.Subresource, b.Subresource)
	})
}

// changer returns the manager that owns a field that has changed: of several the one that wrote last; of several in one
// second, the one that owns most of the changes.
func changer(fields []metav1.ManagedFieldsEntry, changes []fields.Change) metav1.ManagedFieldsEntry {
	var best metav1.ManagedFieldsEntry
	most := 0
	for _, f := range fields {
		owned := owned(f.FieldsV1, changes)
		if owned == 0 {
			continue
		}
		later := written(f).Compare(written(best))
		if most == 0 || later > 0 || later == 0 && owned > most {
			best, most = f, owned
		}
	}
	return best
}

// written returns when the manager last changed a field that it owns; zero if that is not known.
func written(f metav1.ManagedFieldsEntry) time.Time {
	if f.Time == nil {
		return time.Time{}
	}
	return f.Time.Time
}

// owned counts the changes to a value whose field is owned.
func owned(fields *metav1.FieldsV1, changes []fields.Change) int {
	var tree fieldTree
	if json.Unmarshal(fields.GetRawBytes(), &tree) != nil {
		return 0
	}
	n := 0
	for _, c := range changes {
		if c.New != nil && c.Path != "" && tree.has(pathOf(c.Path)) {
			n++
		}
	}
	return n
}

// fieldTree is the form of FieldsV1: a field is "f:" and its name, an entry of a list "k:" and its keys as JSON. If a
// tree is empty, all below it is owned.
type fieldTree map[string]fieldTree

// has reports whether a path is owned. The path must not be empty.
func (t fieldTree) has(path []step) bool {
	for _, s := range path {
		if len(t) == 0 {
			return true
		}
		next, ok := s.in(t)
		if !ok {
			return false
		}
		t = next
	}
	return true
}

// step is a step of a path: to a field, or to the entry of a list whose key has that value.
type step struct{ field, key, value string }

func (s step) in(t fieldTree) (fieldTree, bool) {
	if s.key == "" {
		next, ok := t["f:"+s.field]
		return next, ok
	}
	for name, next := range maps.All(t) {
		keys, ok := strings.CutPrefix(name, "k:")
		var of map[string]any
		if ok && json.Unmarshal([]byte(keys), &of) == nil && of[s.key] != nil && valueText(of[s.key]) == s.value {
			return next, true
		}
	}
	return nil, false
}

// pathOf parses the path of a fields.Change: "spec.containers[name=web].image", "metadata.annotations[a.b/c]".
func pathOf(path string) []step {
	var out []step
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if inner, ok := strings.CutPrefix(path, "["); ok {
			inner, path, _ = strings.Cut(inner, "]")
			if key, value, keyed := strings.Cut(inner, "="); keyed {
				out = append(out, step{key: key, value: value})
			} else {
				out = append(out, step{field: inner})
			}
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out = append(out, step{field: path[:end]})
		path = path[end:]
	}
	return out
}
