package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Event is a recorded Event of the API: one object may stand for many occurrences.
type Event struct {
	Component, Kind, Type, Reason, Message string
	// Name is that of the object that it is about.
	Name  string
	Count int64
}

// String is the Event on one line.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %s %s %s %q (%d)", e.Component, e.Kind, e.Name, e.Type, e.Reason, e.Message, e.Count)
}

// eventOf reads an Event of the core group, which the recorders of both APIs for Events end up in.
func eventOf(u *unstructured.Unstructured) Event {
	field := func(path ...string) string {
		value, _, err := unstructured.NestedString(u.Object, path...)
		if err != nil {
			return ""
		}
		return value
	}
	e := Event{
		Component: field("reportingComponent"), Kind: field("involvedObject", "kind"), Type: field("type"),
		Reason: field("reason"), Message: field("message"), Name: field("involvedObject", "name"), Count: 1,
	}
	if e.Component == "" {
		e.Component = field("source", "component")
	}
	for _, path := range [][]string{{"count"}, {"series", "count"}} {
		if n, found, err := unstructured.NestedInt64(u.Object, path...); err == nil && found {
			e.Count = max(e.Count, n)
		}
	}
	return e
}

// uids are those of the objects that are there.
func (o *observer) uids(namespace string) map[types.UID]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[types.UID]bool{}
	for uid := range o.space(namespace).objects {
		all[uid] = true
	}
	return all
}

// collect reads what the scenario led to.
func (p *play) collect() (*Outcome, error) {
	out := &Outcome{Nodes: p.nodes, Names: p.names}
	writes, err := p.written()
	out.Writes = slices.DeleteFunc(writes, func(w Write) bool { return w.At.Before(p.start) })
	p.observer.mu.Lock()
	s := p.observer.space(p.scenario.Name)
	out.Gone = slices.Clone(s.gone)
	for uid, known := range s.objects {
		switch {
		case p.before[uid]:
		case known.resource.Resource == "events":
			out.Events = append(out.Events, eventOf(known.object))
		default:
			out.Objects = append(out.Objects, Object{known.resource.String(), known.object})
		}
	}
	out.History = history(p.start, out.Writes, s.told)
	p.observer.mu.Unlock()
	return out, err
}

// history puts writes and Events in order.
func history(start time.Time, writes []Write, told []telling) []string {
	all := slices.Clone(told)
	for _, w := range writes {
		line := fmt.Sprintf("%s %s: %d %s", w.Key(), w.Name, w.Code, w.Reason)
		all = append(all, telling{at: w.At, text: line})
	}
	slices.SortStableFunc(all, func(a, b telling) int { return a.at.Compare(b.at) })
	var lines []string
	for _, t := range all {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%8.3fs %s", t.at.Sub(start).Seconds(), t.text)))
	}
	return lines
}
