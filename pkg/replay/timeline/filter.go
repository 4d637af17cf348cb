package timeline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Filter selects entries. The zero value selects all. Each of its fields that is set must hold; of the values of one
// field, one must. GAP, ERROR, BEGIN, END and TORN are about no object, have no Change and no Writer, and are selected
// by Kinds and Types alone; entries of lists are left out if other fields are set.
type Filter struct {
	// Namespace is that of the object; empty means any. Cluster-scoped objects are in none.
	Namespace string
	// Kinds are names of kinds, as kubectl takes them: plural, singular, short or of a category, or the kind, alone or
	// followed by .GROUP or .VERSION.GROUP. Events are selected by what they are about, too.
	Kinds []string
	// Objects are single objects.
	Objects []Name
	// Tree is what belongs to some objects; nil means all.
	Tree *Tree
	// Fields are paths of fields, as fields.ParsePath takes them: only changes of them, or of what is below, are
	// selected, and others are removed from the entries.
	Fields []string
	// Writers are names: of field managers, of controllers, or of the components that report Events.
	Writers []string
	// Types are types of entries.
	Types []Type
}

// Name names an object as a user does.
type Name struct {
	// Kind is a name of its kind: see Filter.Kinds.
	Kind string
	// Namespace may be empty: any.
	Namespace string
	Name      string
}

func (n Name) matches(s *replay.Stream, namespace, name string) bool {
	return n.Name == name && (n.Namespace == "" || n.Namespace == namespace || !s.Namespaced) && matchesKind(n.Kind, s)
}

// is reports whether the name is that of an object of which there may be no stream.
func (n Name) is(o *Object) bool {
	return n.Name == o.Name && (n.Namespace == "" || n.Namespace == o.Namespace) && isKind(n.Kind, o.APIVersion, o.Kind)
}

// Narrow reports whether the filter leaves out objects, or changes of them.
func (f *Filter) Narrow() bool { return len(f.Kinds) > 0 || f.narrowsKinds() }

// narrowsKinds reports whether the filter leaves out objects of a kind, or changes of them.
func (f *Filter) narrowsKinds() bool {
	return f.Namespace != "" || len(f.Objects)+len(f.Fields)+len(f.Writers) > 0 || f.Tree != nil
}

// KindNames returns the names of kinds that the filter has.
func (f *Filter) KindNames() []string {
	out := slices.Clone(f.Kinds)
	for _, n := range f.Objects {
		out = append(out, n.Kind)
	}
	if f.Tree != nil {
		for _, n := range f.Tree.roots {
			out = append(out, n.Kind)
		}
	}
	return out
}

// selectsType reports whether entries of the type are selected.
func (f *Filter) selectsType(t Type) bool { return len(f.Types) == 0 || slices.Contains(f.Types, t) }

// selectsRecord reports whether the object of a record is selected, by what can be read without decoding it.
func (f *Filter) selectsRecord(r *replay.Record, s *streamState) bool {
	if f.Namespace != "" && r.Namespace != f.Namespace {
		return false
	}
	if f.Tree != nil && !s.events && !f.Tree.add(r, s.Stream) {
		return false
	}
	if len(f.Kinds) > 0 && !s.selected && !s.events {
		return false
	}
	if s.events && (len(f.Objects) > 0 || f.Tree != nil || len(f.Kinds) > 0 && !s.selected) {
		about := regardingOf(r.Object)
		return f.selectsObject(&about)
	}
	return len(f.Objects) == 0 || slices.ContainsFunc(f.Objects, func(n Name) bool {
		return n.matches(s.Stream, r.Namespace, r.Name)
	})
}

// selectsObject reports whether an object is selected of which there may be no stream.
func (f *Filter) selectsObject(o *Object) bool {
	isOfKind := func(name string) bool { return isKind(name, o.APIVersion, o.Kind) }
	if f.Tree != nil && !f.Tree.has(o) || len(f.Kinds) > 0 && !slices.ContainsFunc(f.Kinds, isOfKind) {
		return false
	}
	return len(f.Objects) == 0 || slices.ContainsFunc(f.Objects, func(n Name) bool { return n.is(o) })
}

// selectsReconcile reports whether a reconcile is selected: by an object that it wrote or that led to it.
func (f *Filter) selectsReconcile(r *Reconcile) bool {
	if len(f.Fields) > 0 {
		return false
	}
	if len(f.Writers) > 0 && !f.selectsWriter(r.Controller) {
		return false
	}
	if f.Namespace != "" && !strings.HasPrefix(r.Key, f.Namespace+"/") {
		return false
	}
	if len(f.Kinds)+len(f.Objects) == 0 && f.Tree == nil {
		return true
	}
	return slices.ContainsFunc(r.Writes, func(w Write) bool { return f.selectsObject(&w.Object) }) ||
		slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Object != nil && f.selectsObject(c.Object) })
}

func (f *Filter) selectsWriter(names ...string) bool {
	return slices.ContainsFunc(f.Writers, func(w string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(w, name) })
	})
}

// selectsWriterOf reports whether the writer of an entry is selected.
func (f *Filter) selectsWriterOf(e *Entry) bool {
	switch {
	case len(f.Writers) == 0:
		return true
	case e.Event != nil:
		return f.selectsWriter(e.Event.By)
	}
	return e.Writer != nil && f.selectsWriter(e.Writer.User, e.Writer.Manager, e.Writer.Controller)
}

// mayChange reports whether one of Fields may differ in two versions: the part of the object that all of its path but
// entries of lists leads to does. It decodes nothing.
func (f *Filter) mayChange(before, after *document) bool {
	return len(f.Fields) == 0 || slices.ContainsFunc(f.Fields, func(path string) bool {
		path, _, _ = strings.Cut(path, "[")
		names := strings.Split(path, ".")
		old, updated := before.at(names[0]), after.at(names[0])
		return names[0] == "" || !bytes.Equal(old, updated) &&
			!bytes.Equal(rawjson.ValueAt(old, names[1:]...), rawjson.ValueAt(updated, names[1:]...))
	})
}

// selectsEntry reports whether an entry whose object is selected is selected itself, and removes from it what Fields
// leaves out.
func (f *Filter) selectsEntry(e *Entry) bool {
	if !f.selectsWriterOf(e) {
		return false
	}
	if len(f.Fields) == 0 {
		return true
	}
	if e.Change == nil {
		return false
	}
	e.Change.Fields = slices.DeleteFunc(e.Change.Fields, func(c fields.Change) bool { return !f.selectsField(c.Path) })
	e.Change.Conditions = slices.DeleteFunc(e.Change.Conditions, func(c ConditionChange) bool {
		return !f.selectsField("status.conditions[type=" + c.Type + "]")
	})
	if !slices.ContainsFunc(containerLists, func(list string) bool { return f.selectsField("status." + list) }) {
		e.Change.Containers = nil
	}
	return len(e.Change.Fields) > 0
}

// selectsField reports whether a field is one of Fields, or is below or above one.
func (f *Filter) selectsField(path string) bool {
	return slices.ContainsFunc(f.Fields, func(wanted string) bool { return fields.Overlap(path, wanted) })
}

// bound is a moment that a timeline begins or ends at. The zero value is none.
type bound struct {
	replay.Moment
	reached bool
}

func (b *bound) isZero() bool { return b.Moment == replay.Moment{} }

// at reports whether a record is at the moment or after it.
func (b *bound) at(r *replay.Record) bool {
	if !b.reached {
		b.reached = b.isZero() || b.Number > 0 && r.Number >= b.Number || !b.Time.IsZero() && !r.Time.Before(b.Time) ||
			b.ResourceVersion != "" && (r.ResourceVersion == b.ResourceVersion ||
				snapshot.IsNewer(r.ResourceVersion, b.ResourceVersion)) || b.Start && isChange(r)
	}
	return b.reached
}

// after reports whether a record is after the moment.
func (b *bound) after(r *replay.Record) bool {
	switch {
	case b.isZero():
		return false
	case b.Number > 0:
		return r.Number > b.Number
	case !b.Time.IsZero():
		return r.Time.After(b.Time)
	}
	before := b.reached
	return b.at(r) && before || b.Start && b.reached
}

func isChange(r *replay.Record) bool { return r.Type.HasObject() && r.Type != replay.TypeListItem }
