package ownertree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Event is what a component has reported about an object, once or several times.
type Event = inspect.Event

// EventOptions choose the Events to read. The zero value reads all.
type EventOptions struct {
	// Warnings leaves out the Events of the type Normal.
	Warnings bool
	// Each reads a list for each object, which is for few objects in namespaces with many Events.
	Each bool
}

const (
	// mostEvents bounds the Events that are looked at, of a namespace or of all.
	mostEvents = 10_000
	// mostOfObject is how many Events of an object are kept, the last ones.
	mostOfObject = 10
)

var errEnoughEvents = errors.New("enough events")

// Events reads the Events of the nodes: by a list for each object, each namespace, or of all namespaces, whichever is
// least. The last ones of each object are returned, the last first; objects without any are left out. Events are kept
// by the server for an hour, unless that is set otherwise.
//
// What could not be read is returned beside them, sorted, and so is that there are too many Events to read all. The
// error is not nil only if ctx has ended.
func (g *Graph) Events(
	ctx context.Context, reader *cluster.Reader, nodes []*Node, o EventOptions,
) (map[*Node][]Event, []cluster.Incomplete, error) {
	kind := g.listable(schema.GroupKind{Kind: "Event"})
	if kind == nil || len(nodes) == 0 {
		return nil, nil, nil
	}
	r := &eventReader{
		reader: reader, kind: kind, warnings: o.Warnings, each: o.Each,
		objects: map[involved]*Node{}, byUID: map[types.UID]*Node{},
		found: map[*Node][]Event{},
	}
	r.read(ctx, nodes)
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("reading events: %w", context.Cause(ctx))
	}
	for n, all := range r.found {
		slices.SortStableFunc(all, func(a, b Event) int {
			return cmp.Or(b.Last.Compare(a.Last.Time),
				cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
		})
		r.found[n] = all[:min(len(all), mostOfObject)]
	}
	return r.found, cluster.SortIncomplete(r.incomplete), nil
}

// involved is how an Event names its object.
type involved struct{ group, kind, namespace, name string }

type eventReader struct {
	reader   *cluster.Reader
	kind     *cluster.Kind
	warnings bool
	each     bool
	objects  map[involved]*Node
	byUID    map[types.UID]*Node

	mu         sync.Mutex
	found      map[*Node][]Event
	incomplete []cluster.Incomplete
}

// eventNamespace is where the Events of an object are. It mirrors recorderImpl.makeEvent of
// k8s.io/client-go/tools/record/event.go.
func eventNamespace(n *Node) string { return cmp.Or(n.Namespace, metav1.NamespaceDefault) }

func (r *eventReader) read(ctx context.Context, nodes []*Node) {
	namespaces := map[string][]*Node{}
	for _, n := range nodes {
		r.objects[involved{n.Kind.Group, n.Kind.Kind, n.Namespace, n.Name}], r.byUID[n.UID] = n, n
		namespaces[eventNamespace(n)] = append(namespaces[eventNamespace(n)], n)
	}
	if len(namespaces) > fewLists && !r.each {
		err := r.list(ctx, "", nil)
		if err == nil || !apierrors.IsForbidden(err) {
			r.failed("", err)
			return
		}
	}
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for namespace, all := range namespaces {
		wanted := []*Node{nil} // a list of all
		if len(all) == 1 || r.each {
			wanted = all
		}
		for _, only := range wanted {
			group.Go(func() error {
				r.failed(namespace, r.list(ctx, namespace, only))
				return nil
			})
		}
	}
	_ = group.Wait() // errors are noted
}

// failed notes an error, unless it is nil.
func (r *eventReader) failed(namespace string, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := cluster.Target{Kind: *r.kind, Namespace: namespace}.Incomplete(err)
	if errors.Is(err, errEnoughEvents) {
		missing.Reason, missing.Message = cluster.ReasonTooMany, fmt.Sprintf("only the first %d were read", mostEvents)
	}
	r.incomplete = append(r.incomplete, missing)
}

// list reads the Events of a namespace, of one object if only is not nil.
func (r *eventReader) list(ctx context.Context, namespace string, only *Node) error {
	selector := fields.Set{}
	if r.warnings {
		selector["type"] = corev1.EventTypeWarning
	}
	if only != nil {
		selector["involvedObject.kind"], selector["involvedObject.name"] = only.Kind.Kind, only.Name
	}
	options := cluster.ListOptions{Fields: selector.AsSelector().String()}
	seen := 0
	target := cluster.Target{Kind: *r.kind, Namespace: namespace}
	fresh := func() cluster.Typed { return &corev1.Event{} }
	return r.reader.ListTyped(ctx, target, options, fresh, func(object cluster.Typed) error {
		if seen++; seen > mostEvents {
			return errEnoughEvents
		}
		if e, ok := object.(*corev1.Event); ok {
			r.keep(e)
		}
		return nil
	})
}

// keep notes an Event if it is of one of the objects: of another that had its name before it is not. Kubelets may have
// the name of their Node for its uid, and some components leave out the API version.
func (r *eventReader) keep(e *corev1.Event) {
	about := e.InvolvedObject
	n := r.objects[involved{about.GroupVersionKind().Group, about.Kind, about.Namespace, about.Name}]
	if n == nil && about.APIVersion == "" && about.UID != "" {
		n = r.byUID[about.UID]
	}
	if n == nil || about.UID != "" && about.UID != n.UID && string(about.UID) != n.Name {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[n] = append(r.found[n], newEvent(e))
}

// newEvent reads both sorts of Events: those of events.k8s.io have a series, and a time of their own.
func newEvent(e *corev1.Event) Event {
	out := Event{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(e.Count, 1),
		First: e.FirstTimestamp, Last: e.LastTimestamp, By: cmp.Or(e.ReportingController, e.Source.Component),
	}
	if out.First.IsZero() {
		out.First = metav1.NewTime(e.EventTime.Time)
	}
	if out.First.IsZero() {
		out.First = e.CreationTimestamp
	}
	if e.Series != nil {
		out.Count = max(e.Series.Count, out.Count)
		out.Last = metav1.NewTime(e.Series.LastObservedTime.Time)
	}
	if out.Last.IsZero() {
		out.Last = out.First
	}
	return out
}
