package compare

import (
	"encoding/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// tracedWrites are the successful writes of a recorded trace.
type tracedWrites struct {
	byVersion map[string]*tracedWrite // by resource, namespace/name and version
	deletions map[string]*tracedWrite // by resource, namespace/name and uid
	causes    map[trace.ReconcileID][]trace.Cause
	traced    map[string]bool // controllers
}

type tracedWrite struct {
	effect
	verb Verb
}

func newTracedWrites() *tracedWrites {
	return &tracedWrites{
		byVersion: map[string]*tracedWrite{}, deletions: map[string]*tracedWrite{},
		causes: map[trace.ReconcileID][]trace.Cause{}, traced: map[string]bool{},
	}
}

// add takes a line of a trace. A line that is none is left out: the rest of the recording is as good without it.
func (t *tracedWrites) add(line []byte) {
	var e trace.Event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch d := e.Detail.(type) {
	case *trace.Start:
		t.traced[e.Controller] = true
		t.causes[e.Reconcile] = d.Causes
	case *trace.Request:
		if !d.IsWrite() || d.Failed() || d.DryRun || d.NotSent || d.Recorded != nil {
			return
		}
		t.traced[e.Controller] = true
		made := &tracedWrite{effect{controller: e.Controller, key: e.Key, reconcile: e.Reconcile}, requestVerb(d)}
		of := tracedName(&d.Object)
		if made.verb == VerbDelete {
			t.deletions[of+d.UID] = made
			t.deletions[of] = made
		}
		if made.verb != VerbDelete || t.byVersion[of+d.ResourceVersion] == nil {
			t.byVersion[of+d.ResourceVersion] = made
		}
	}
}

// tracedName is a text of an object, with a blank at the end.
func tracedName(o *trace.Object) string {
	return o.Group + " " + o.Resource + " " + joinKey(o.Namespace, o.Name) + " "
}

func requestVerb(r *trace.Request) Verb {
	switch {
	case r.Verb == "create" && r.Subresource == "":
		return VerbCreate
	case r.Verb == "delete":
		return VerbDelete
	case r.Subresource == "status":
		return VerbUpdateStatus
	}
	return VerbUpdate
}

// find returns who made the change of an event by the trace; nil if no reconcile of it did. The verbs must be the same:
// a write that changes nothing is answered with the version of the write before.
func (t *tracedWrites) find(ev *event) *effect {
	id := ev.id()
	of := tracedName(&id)
	found := t.byVersion[of+ev.record.ResourceVersion]
	if ev.verb == VerbDelete && (found == nil || found.verb != VerbDelete) {
		if found = t.deletions[of+ev.record.UID]; found == nil {
			found = t.deletions[of]
		}
	}
	if found == nil || found.verb != ev.verb {
		return nil
	}
	out := found.effect
	out.causes = t.causes[out.reconcile]
	return &out
}
