package timeline

import (
	"maps"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Absent is what a filter names and a recording does not have. The zero value is nothing.
type Absent struct {
	// Objects are those of Filter.Objects, and the roots of Filter.Tree.
	Objects []AbsentObject
	// Namespace is Filter.Namespace; empty if there is an object in it, or if it was recorded itself. Namespaces are
	// those that there are, sorted.
	Namespace  string
	Namespaces []string
}

// AbsentObject is an object that a recording does not have.
type AbsentObject struct {
	Name
	// Known are the names that objects of the kind have, sorted, for suggestions: at most a thousand.
	Known []string
}

// IsZero reports whether the recording has all.
func (a *Absent) IsZero() bool { return len(a.Objects) == 0 && a.Namespace == "" }

// maxKnown bounds the names of AbsentObject.
const maxKnown = 1000

// FindAbsent reads a source until all is found that a filter names, or to its end. An object counts as there if an
// Event is about it, and the root of a tree also if another object has it as an owner. The error is that of the source:
// what was found until then is returned, too.
func FindAbsent(source replay.Source, f Filter) (Absent, error) {
	s := absentSearch{
		filter: f, names: slices.Clone(f.Objects), streams: map[int]*replay.Stream{}, namespaces: map[string]bool{},
	}
	if f.Tree != nil {
		s.names = append(s.names, f.Tree.roots...)
	}
	s.found, s.known = make([]bool, len(s.names)), make([]map[string]bool, len(s.names))
	err := eachRecordUntil(source, s.add)
	var out Absent
	for i, name := range s.names {
		if !s.found[i] {
			out.Objects = append(out.Objects, AbsentObject{name, slices.Sorted(maps.Keys(s.known[i]))})
		}
	}
	if f.Namespace != "" && !s.namespaces[f.Namespace] {
		out.Namespace, out.Namespaces = f.Namespace, slices.Sorted(maps.Keys(s.namespaces))
	}
	return out, err
}

type absentSearch struct {
	filter     Filter
	names      []Name
	found      []bool
	known      []map[string]bool // by the index of the name
	streams    map[int]*replay.Stream
	namespaces map[string]bool
}

// add takes a record into account, and reports whether all is found.
func (s *absentSearch) add(r *replay.Record) bool {
	if r.Type == replay.TypeStream {
		s.streams[r.Stream] = r.NewStream
	}
	stream := s.streams[r.Stream]
	if !r.Type.HasObject() || stream == nil {
		return false
	}
	if r.Namespace != "" {
		s.namespaces[r.Namespace] = true
	} else if stream.Group == "" && stream.Kind == "Namespace" {
		s.namespaces[r.Name] = true
	}
	var about []Object
	if isEventStream(stream) {
		about = append(about, regardingOf(r.Object))
	} else if s.filter.Tree != nil {
		for _, o := range ownersOf(r.Object) {
			about = append(about, Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: r.Namespace, Name: o.Name})
		}
	}
	all := s.filter.Namespace == "" || s.namespaces[s.filter.Namespace]
	for i, name := range s.names {
		s.found[i] = s.found[i] || name.matches(stream, r.Namespace, r.Name) ||
			slices.ContainsFunc(about, func(o Object) bool { return name.is(&o) })
		all = all && s.found[i]
		if !s.found[i] && len(s.known[i]) < maxKnown && matchesKind(name.Kind, stream) {
			if s.known[i] == nil {
				s.known[i] = map[string]bool{}
			}
			s.known[i][r.Name] = true
		}
	}
	return all
}
