package compare

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// tracedWrites are the writes of a recorded trace.
type tracedWrites struct {
	byVersion map[string]*tracedWrite   // by resource, namespace/name and version
	deletions map[string][]*tracedWrite // by resource, namespace/name and uid, in their order
	// collections are deletions of all objects, by resource and namespace/.
	collections map[string][]*tracedWrite
	starts      map[trace.ReconcileID]*tracedStart
	delivered   map[string]time.Time // by an informer, by resource, namespace/name and version
	traced      map[string]bool      // controllers
	refusals    []*event             // writes that the API has refused, in their order
	newest      uint64               // version that the trace has shown
	// audited has when an audit log says who wrote, by resource.
	audited map[schema.GroupResource]*span
	// byCredentials are the short names of controllers.
	byCredentials map[string][]string
}

// refusal is how the API has refused a write.
type refusal struct {
	code            int
	reason, message string
	prefix          string // of the name that was to be generated; empty for others
}

// generatedName returns the name that was generated for what was refused, which the message has; empty if it has none.
func (f *refusal) generatedName() string {
	_, rest, _ := strings.Cut(f.message, `"`+f.prefix)
	suffix, _, _ := strings.Cut(rest, `"`)
	if f.prefix == "" || len(suffix) != generatedLength || strings.Trim(suffix, generatedLetters) != "" {
		return ""
	}
	return f.prefix + suffix
}

func (f *refusal) answer() answer {
	return answer{refused: f.message, code: f.code, reason: metav1.StatusReason(f.reason)}
}

type tracedWrite struct {
	effect
	user string // of an audit log
	// unknown is set if the user may be any of kube-controller-manager's controllers.
	unknown bool
	verb    Verb
	began   time.Time
	ended   time.Time // of the deletion of a collection, which names no objects; zero for others
}

// tracedStart is the start of a reconcile, and when it was.
type tracedStart struct {
	*trace.Start
	at time.Time
}

func newTracedWrites() *tracedWrites {
	return &tracedWrites{
		byVersion: map[string]*tracedWrite{}, deletions: map[string][]*tracedWrite{},
		collections: map[string][]*tracedWrite{},
		starts:      map[trace.ReconcileID]*tracedStart{}, delivered: map[string]time.Time{}, traced: map[string]bool{},
		audited: map[schema.GroupResource]*span{}, byCredentials: byCredentials(),
	}
}

// add takes a line of a trace. A line that is none is left out: the rest of the recording is as good without it.
func (t *tracedWrites) add(r *replay.Record) {
	var e trace.Event
	if json.Unmarshal(r.Object, &e) != nil {
		return
	}
	switch d := e.Detail.(type) {
	case *trace.Watch:
		t.newest = max(t.newest, snapshot.VersionNumber(d.ResourceVersion))
		t.delivered[tracedName(&d.Object)+d.ResourceVersion] = e.Time
	case *trace.Start:
		t.traced[e.Controller] = true
		t.starts[e.Reconcile] = &tracedStart{d, e.Time}
	case *trace.Request:
		if !d.IsWrite() || d.DryRun || d.NotSent || d.Recorded != nil {
			return
		}
		by := effect{controller: e.Controller, key: e.Key, reconcile: e.Reconcile}
		known := true
		if d.User == "" {
			t.traced[e.Controller] = true
		} else {
			known = t.addAudited(&e, d, &by)
		}
		if d.Failed() {
			t.addRefusal(r, e.Time, d, by)
			return
		}
		t.newest = max(t.newest, snapshot.VersionNumber(d.ResourceVersion))
		began := e.Time.Add(-time.Duration(d.Latency))
		made := &tracedWrite{effect: by, user: d.User, unknown: !known, verb: requestVerb(d), began: began}
		of := tracedName(&d.Object)
		if d.Verb == "deletecollection" {
			made.verb, made.ended = VerbDelete, e.Time
			t.collections[of] = append(t.collections[of], made)
			return
		}
		if made.verb == VerbDelete {
			t.deletions[of+d.UID] = append(t.deletions[of+d.UID], made)
			if d.UID != "" {
				t.deletions[of] = append(t.deletions[of], made)
			}
		}
		// A write that changes nothing, or that takes the last finalizer of an object that is deleted, is answered with
		// the version of another one before.
		before := t.byVersion[of+d.ResourceVersion]
		if d.ResourceVersion != "" && (before == nil || before.user != "" && made.user == "") {
			t.byVersion[of+d.ResourceVersion] = made
		}
	}
}

// addRefusal takes a write that was refused for what it is. One that came too late, as the object had changed or was
// gone, was made by what the caches of the controller had at that moment.
func (t *tracedWrites) addRefusal(r *replay.Record, at time.Time, d *trace.Request, by effect) {
	if d.Code < http.StatusBadRequest || d.Code == http.StatusNotFound || d.Code == http.StatusConflict ||
		d.User != "" && t.newest == 0 { // nothing tells when it was
		return
	}
	t.refusals = append(t.refusals, &event{
		record: &replay.Record{
			Number: r.Number, Type: r.Type, Time: at, Namespace: d.Namespace, Name: d.Name,
		},
		stream: &replay.Stream{Group: d.Group, Version: d.Version, Resource: d.Resource, Kind: d.Kind},
		order:  t.newest, verb: requestVerb(d), generated: d.GenerateName != "",
		effect:  t.effect(by),
		refused: &refusal{code: d.Code, reason: d.Reason, message: d.Message, prefix: d.GenerateName},
	})
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

// isLate reports whether an informer delivered an event after a reconcile had begun, which may not have known it then.
func (t *tracedWrites) isLate(ev *event, began time.Time) bool {
	id := ev.id()
	return t.delivered[tracedName(&id)+ev.record.ResourceVersion].After(began)
}

// write returns the write that made the change of an event; nil if none is known. The verbs must be the same: a write
// that changes nothing is answered with the version of the write before.
func (t *tracedWrites) write(ev *event) *tracedWrite {
	id := ev.id()
	of := tracedName(&id)
	found := t.byVersion[of+ev.record.ResourceVersion]
	if ev.verb == VerbDelete && (found == nil || found.verb != VerbDelete) {
		if found = t.deletion(of, ev); found == nil {
			found = lastBefore(t.deletions[of], ev.record.Time)
		}
		if found == nil {
			id.Name = ""
			found = lastBefore(t.collections[tracedName(&id)], ev.record.Time)
		}
	}
	if found == nil || found.verb != ev.verb {
		return nil
	}
	return found
}

// deletion returns the deletion of the object of an event, whose name is of, by its uid; nil if none is known. One in
// an audit log counts at any time: its clock may be another one.
func (t *tracedWrites) deletion(of string, ev *event) *tracedWrite {
	writes := t.deletions[of+ev.record.UID]
	found := lastBefore(writes, ev.record.Time)
	if found == nil && ev.record.UID != "" && len(writes) > 0 && writes[0].user != "" {
		return writes[0]
	}
	return found
}

// lastBefore returns the last write that had begun at a time, and had not ended long before; nil if there is none.
func lastBefore(writes []*tracedWrite, at time.Time) *tracedWrite {
	for _, made := range slices.Backward(writes) {
		if at.IsZero() || !made.began.After(at) {
			if !made.ended.IsZero() && at.After(made.ended.Add(burst)) {
				return nil
			}
			return made
		}
	}
	return nil
}

// effect adds to an effect what the trace has of its reconcile.
func (t *tracedWrites) effect(of effect) *effect {
	if start := t.starts[of.reconcile]; start != nil {
		of.isTraced, of.started, of.queue, of.causes = true, start.at, start.Queue, start.Causes
	}
	return &of
}
