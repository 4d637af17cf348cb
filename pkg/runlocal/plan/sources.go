package plan

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Objects is a Source that has no cluster. Objects as a server has stored them are the state that the plan begins with
// (see seed.FromFiles), to which the others are applied first. Without any that are stored, the objects are applied to
// an empty cluster, and have settled before a change.
type Objects []runlocal.Manifest

var _ Source = Objects(nil)

// Read implements Source.
func (objects Objects) Read(_ context.Context, _ Change, o Options) (*State, error) {
	stored, others := objects.divide()
	if len(stored) == 0 {
		return &State{First: others}, nil
	}
	copied, err := seed.FromFiles(stored, o.MaxObjects)
	if err != nil {
		return nil, err
	}
	state := &State{Copy: copied, First: others, Namespace: o.Namespace}
	switch {
	case o.Namespace == "" && len(copied.Namespaces) == 1:
		state.Namespace = copied.Namespaces[0]
	case o.Namespace != "" && !copied.HasNamespace(o.Namespace):
		namespace := &unstructured.Unstructured{}
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(o.Namespace)
		added := runlocal.Manifest{Source: "namespace", Object: namespace}
		state.First = append([]runlocal.Manifest{added}, others...)
	}
	return state, nil
}

// divide divides objects into those as a server has stored them, and manifests.
func (objects Objects) divide() (stored []seed.File, others []runlocal.Manifest) {
	for _, m := range objects {
		if seed.IsStored(m.Object) {
			stored = append(stored, seed.File(m))
		} else {
			others = append(others, m)
		}
	}
	return stored, others
}

// At returns a Source for objects as they were at a time, such as a moment of a recording. Times are moved so that it
// is now, as else every deadline would have passed, and those of the plan are moved back, but for those of Plan.State.
func (objects Objects) At(t time.Time) Source { return past{objects, t} }

type past struct {
	objects Objects
	at      time.Time
}

// Read implements Source.
func (p past) Read(ctx context.Context, change Change, o Options) (*State, error) {
	moved := time.Now().Truncate(time.Second).Sub(p.at.Truncate(time.Second))
	var objects Objects
	for _, m := range p.objects {
		fields, err := snapshot.RetimeFields(m.Object.Object, snapshot.NamedTimes, snapshot.Later(moved))
		if err != nil {
			return nil, err
		}
		m.Object = &unstructured.Unstructured{Object: fields}
		objects = append(objects, m)
	}
	state, err := objects.Read(ctx, change, o)
	if err == nil {
		state.moved = moved
	}
	return state, err
}

// move moves the times in what a plan shows.
func (p *Plan) move(by time.Duration) error {
	for i := range p.Objects {
		for _, obj := range []*unstructured.Unstructured{p.Objects[i].Before, p.Objects[i].After} {
			if err := moveTimes(obj, by); err != nil {
				return err
			}
		}
	}
	for i := range p.Steps {
		for _, w := range p.Steps[i].Writes {
			if err := moveChanges(w.Changes, by); err != nil {
				return err
			}
		}
		for _, c := range p.Steps[i].Causes {
			if err := moveChanges(c.Changes, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveTimes moves the times of an object, which may be nil.
func moveTimes(obj *unstructured.Unstructured, by time.Duration) error {
	if obj == nil || by == 0 {
		return nil
	}
	moved, err := snapshot.RetimeFields(obj.Object, snapshot.NamedTimes, snapshot.Later(by))
	if err != nil {
		return err
	}
	obj.Object = moved
	return nil
}

// moveChanges moves the times among the values of changes.
func moveChanges(changes []fields.Change, by time.Duration) error {
	for i := range changes {
		c := &changes[i]
		field := c.Path[strings.LastIndex(c.Path, ".")+1:]
		for _, value := range []*any{&c.Old, &c.New} {
			fields, err := snapshot.RetimeFields(map[string]any{field: *value}, snapshot.NamedTimes, snapshot.Later(by))
			if err != nil {
				return err
			}
			*value = fields[field]
		}
	}
	return nil
}
