package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// teller records the events of a test, a millisecond apart.
type teller struct {
	story *trace.Story
	seq   uint64
}

var storyBegan = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func (t *teller) record(controller string, id trace.ReconcileID, key string, d trace.Detail) {
	t.seq++
	t.story.Record(&trace.Event{
		Seq: t.seq, Time: storyBegan.Add(time.Duration(t.seq) * time.Millisecond), Controller: controller, Reconcile: id, Key: key, Detail: d,
	})
}

// reconcile records a reconcile with its cause, requests and end.
func (t *teller) reconcile(controller string, id trace.ReconcileID, key string, cause trace.Cause, end trace.End, requests ...*trace.Request) {
	t.record(controller, id, key, &trace.Start{Causes: []trace.Cause{cause}})
	for _, r := range requests {
		t.record(controller, id, key, r)
	}
	t.record(controller, id, key, &end)
}

func by(id trace.ReconcileID) trace.Cause {
	return trace.Cause{Type: trace.CauseWatch, Watch: &trace.Watch{Event: trace.Modified, WrittenBy: id}}
}

func outside(manager, resource, kind, name string) trace.Cause {
	return trace.Cause{Type: trace.CauseWatch, Watch: &trace.Watch{
		Event: trace.Added, Object: trace.Object{Resource: resource, Kind: kind, Namespace: "shop", Name: name},
		Manager: trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: manager} }),
	}}
}

func write(verb, resource, kind, name string, changes ...fields.Change) *trace.Request {
	return &trace.Request{
		Verb: verb, Code: 200, Object: trace.Object{Resource: resource, Kind: kind, Namespace: "shop", Name: name},
		Change: trace.ChangeFrom(func() []fields.Change { return changes }),
	}
}

func status(resource, kind, name string, changes ...fields.Change) *trace.Request {
	r := write("update", resource, kind, name, changes...)
	r.Subresource = "status"
	return r
}

func refusal(reason, message string, code int) *trace.Request {
	r := write("create", "pods", "Pod", "")
	r.Code, r.Reason, r.Message = code, reason, message
	return r
}

// told writes steps in lines.
func told(steps []*trace.Step, indent string) []string {
	var out []string
	for _, s := range steps {
		who := s.Controller
		if who == "" {
			who = "(" + s.Manager + ")"
		}
		for _, a := range s.Acts {
			line := fmt.Sprintf("%s%s: %s %s %s", indent, who, a.Type, a.Verb, a.Of.Kind)
			for i, o := range a.Objects {
				if i > 0 && o.Then {
					line += " ->"
				}
				line += " " + o.Name
				if o.Node != "" {
					line += "@" + o.Node
				}
			}
			if a.Count > len(a.Objects) {
				line += fmt.Sprintf(" x%d", a.Count)
			}
			if a.Replicas != nil {
				line += fmt.Sprint(" ", a.Replicas)
			}
			if a.Type == trace.ActStatus {
				for _, c := range a.Changes {
					line += " " + c.String()
				}
			}
			if a.Message != "" {
				line += ": " + a.Message
			}
			out = append(out, strings.TrimSpace(line[:len(indent)]+strings.TrimSpace(line[len(indent):])))
			if indent != "" {
				out[len(out)-1] = indent + strings.TrimSpace(line)
			}
		}
		out = append(out, told(s.Steps, indent+"  ")...)
	}
	return out
}

// TestStory: what controllers did, below what they reacted to, and counts of what is not told.
func TestStory(t *testing.T) {
	done := trace.End{Outcome: trace.Done}
	replicas := func(from, to any) fields.Change { return fields.Change{Path: "spec.replicas", Old: from, New: to} }
	ready := func(from, to any) fields.Change {
		return fields.Change{Path: "status.readyReplicas", Old: from, New: to}
	}
	podReady := fields.Change{Path: "status.conditions[type=Ready].status", Old: "False", New: "True"}
	for _, row := range []struct {
		reason string
		record func(*teller)
		want   []string
		left   trace.NotTold
	}{
		{"a rollout, from cause to effect", func(s *teller) {
			s.reconcile("deployment", 1, "shop/web", outside("you", "deployments", "Deployment", "web"), done,
				write("create", "replicasets", "ReplicaSet", "web-1", replicas(nil, 1)))
			s.reconcile("replicaset", 2, "shop/web-1", by(1), done, write("create", "pods", "Pod", "web-1-a"))
			binding := write("create", "pods", "Pod", "web-1-a")
			binding.Subresource = "binding"
			s.reconcile("scheduler", 3, "shop/web-1-a", by(2), done, binding)
			s.record("", 0, "", &trace.Watch{Event: trace.Modified, WrittenBy: 3, Writer: "scheduler", Object: trace.Object{Resource: "pods", Namespace: "shop", Name: "web-1-a"},
				Change: trace.ChangeFrom(func() []fields.Change { return []fields.Change{{Path: "spec.nodeName", New: "node-1"}} })})
			s.reconcile("kubelet", 4, "shop/web-1-a", by(3), done, status("pods", "Pod", "web-1-a", podReady))
			s.reconcile("replicaset", 5, "shop/web-1", by(4), done, status("replicasets", "ReplicaSet", "web-1", ready(nil, 1)))
			s.reconcile("deployment", 6, "shop/web", by(5), done, status("deployments", "Deployment", "web", ready(nil, 1)))
			s.reconcile("deployment", 7, "shop/web", by(6), done)
		}, []string{
			"(you): seen create Deployment web",
			"  deployment: write create ReplicaSet web-1",
			"    replicaset: write create Pod web-1-a",
			"      scheduler: write create Pod web-1-a@node-1",
			"        kubelet: status update Pod web-1-a status.conditions[type=Ready].status: False -> True",
			"deployment: status update Deployment web status.readyReplicas: <none> -> 1",
		}, trace.NotTold{StatusWrites: 1, Idle: 1}},
		{"what is done again in reaction is one act", func(s *teller) {
			s.reconcile("deployment", 1, "shop/web", outside("you", "deployments", "Deployment", "web"), done,
				write("update", "replicasets", "ReplicaSet", "web-2", replicas(0, 1)))
			s.reconcile("replicaset", 2, "shop/web-2", by(1), done, write("create", "pods", "Pod", "web-2-a"))
			s.reconcile("deployment", 3, "shop/web", by(2), done, write("update", "replicasets", "ReplicaSet", "web-2", replicas(1, 2)))
			s.reconcile("replicaset", 4, "shop/web-2", by(3), done, write("create", "pods", "Pod", "web-2-b"))
		}, []string{
			"(you): seen create Deployment web",
			"  deployment: write update ReplicaSet web-2 x2 [0 1 2]",
			"    replicaset: write create Pod web-2-a -> web-2-b",
		}, trace.NotTold{}},
		{"objects that are treated alike are one act", func(s *teller) {
			for i, name := range []string{"a", "b", "c"} {
				s.reconcile("deployment", trace.ReconcileID(i+1), "shop/"+name, outside("you", "deployments", "Deployment", name), done,
					write("create", "replicasets", "ReplicaSet", name+"-1"), status("deployments", "Deployment", name, ready(nil, 1)))
			}
		}, []string{
			"(you): seen create Deployment a b c",
			"  deployment: write create ReplicaSet a-1 b-1 c-1",
			"deployment: status update Deployment a b c status.readyReplicas: <none> -> 1",
		}, trace.NotTold{}},
		{"a failure that a retry heals, conflicts and waits for caches are counted", func(s *teller) {
			cause := outside("you", "deployments", "Deployment", "web")
			s.reconcile("deployment", 1, "shop/web", cause, trace.End{Outcome: trace.Failed, Error: "not found"})
			s.reconcile("deployment", 2, "shop/web", trace.Cause{Type: trace.CauseRetry, Reconcile: 1}, done, refusal("Conflict", "changed", 409))
			s.reconcile("deployment", 3, "shop/web", cause, trace.End{Outcome: trace.Failed, PutOff: "pods"})
		}, nil, trace.NotTold{Healed: 1, Conflicts: 1, Idle: 1, PutOff: 1}},
		{"a failure that stays is told once, and so is a refusal", func(s *teller) {
			cause := outside("you", "jobs", "Job", "work")
			for i := range 3 {
				s.reconcile("job", trace.ReconcileID(2*i+1), "shop/work", cause, trace.End{Outcome: trace.Failed, Error: "exceeded quota"}, refusal("Forbidden", "exceeded quota", 403))
				s.reconcile("ttl", trace.ReconcileID(2*i+2), "shop/work", cause, trace.End{Outcome: trace.Failed, Error: "no"})
			}
		}, []string{
			"(you): seen create Job work",
			"  job: refused create Pod : exceeded quota",
			"  ttl: failed   shop/work x3: no",
		}, trace.NotTold{Repeated: 2}},
		{"a write is told below the write that it was seen of, also before that is answered", func(s *teller) {
			s.record("job", 1, "shop/work", &trace.Start{Causes: []trace.Cause{outside("you", "jobs", "Job", "work")}})
			s.reconcile("scheduler", 2, "shop/work-a", by(1), done, write("patch", "pods", "Pod", "work-a"))
			s.record("job", 1, "shop/work", write("create", "pods", "Pod", "work-a"))
			s.record("job", 1, "shop/work", &done)
			// one that only repeats a status has no step
			s.record("job", 3, "shop/other", &trace.Start{Causes: []trace.Cause{outside("you", "jobs", "Job", "other")}})
			s.reconcile("ttl", 4, "shop/other", by(3), done, write("delete", "jobs", "Job", "other"))
			s.record("job", 3, "shop/other", status("jobs", "Job", "other"))
			s.record("job", 3, "shop/other", &done)
		}, []string{
			"(you): seen create Job work other",
			"  job: write create Pod work-a",
			"    scheduler: write patch Pod work-a",
			"    ttl: write delete Job other",
		}, trace.NotTold{StatusWrites: 1}},
		{"pods tell each trouble once, and Leases nothing", func(s *teller) {
			waiting := func(reason string) fields.Change {
				return fields.Change{Path: "status.containerStatuses[name=c].state.waiting.reason", New: reason}
			}
			for _, reason := range []string{"ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull"} {
				s.reconcile("kubelet", trace.ReconcileID(s.seq+1), "shop/a", trace.Cause{Type: trace.CauseTimer}, done, status("pods", "Pod", "a", waiting(reason)))
			}
			s.reconcile("kubelet", 99, "node-1", trace.Cause{Type: trace.CauseTimer}, done, write("update", "leases", "Lease", "node-1"))
		}, []string{
			"kubelet: status update Pod a status.containerStatuses[name=c].state.waiting.reason: <none> -> ErrImagePull",
		}, trace.NotTold{StatusWrites: 2, Repeated: 2}},
	} {
		s := &teller{story: trace.NewStory(false)}
		row.record(s)
		if diff := cmp.Diff(row.want, told(s.story.Take(), "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		if diff := cmp.Diff(row.left, s.story.NotTold()); diff != "" {
			t.Errorf("%s: not told (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestStoryInParts: what reacts to a step that was taken begins one by itself, and the start is counted.
func TestStoryInParts(t *testing.T) {
	done := trace.End{Outcome: trace.Done}
	s := &teller{story: trace.NewStory(true)}
	s.reconcile("ttl", 1, "node-1", trace.Cause{Type: trace.CauseOther}, done, write("patch", "nodes", "Node", "node-1"))
	s.story.StartAt(storyBegan.Add(time.Duration(s.seq)*time.Millisecond + 1))
	s.reconcile("deployment", 2, "shop/web", outside("you", "deployments", "Deployment", "web"), done, write("create", "replicasets", "ReplicaSet", "web-1"))
	if diff := cmp.Diff([]string{"(you): seen create Deployment web", "  deployment: write create ReplicaSet web-1"}, told(s.story.Take(), "")); diff != "" {
		t.Errorf("the first part (-want +got):\n%s", diff)
	}
	s.reconcile("replicaset", 3, "shop/web-1", by(2), done, write("create", "pods", "Pod", "web-1-a"))
	s.reconcile("deployment", 4, "shop/web", by(3), done, write("update", "replicasets", "ReplicaSet", "web-1"))
	if diff := cmp.Diff([]string{"replicaset: write create Pod web-1-a", "  deployment: write update ReplicaSet web-1"}, told(s.story.Take(), "")); diff != "" {
		t.Errorf("the second part (-want +got):\n%s", diff)
	}
	if got := s.story.NotTold(); got != (trace.NotTold{Starting: 1}) {
		t.Errorf("not told: %+v", got)
	}
	// What somebody else does later in reaction to the change of the first part, and to another one.
	s.reconcile("endpoint", 5, "shop/web", outside("you", "deployments", "Deployment", "web"), done, write("create", "endpoints", "Endpoints", "web"))
	steps := s.story.Take()
	if len(steps) != 1 || !steps[0].Acts[0].Again {
		t.Errorf("the third part does not say that its cause was told before: %v", told(steps, ""))
	}
	s.reconcile("job", 6, "shop/new", outside("you", "jobs", "Job", "new"), done, write("create", "pods", "Pod", "new-a"))
	if steps := s.story.Take(); len(steps) != 1 || steps[0].Acts[0].Again {
		t.Errorf("the fourth part says that its cause was told before: %v", told(steps, ""))
	}
}

// TestStoryTimes: a step is no later than what it led to, also if its answer came late.
func TestStoryTimes(t *testing.T) {
	done := trace.End{Outcome: trace.Done}
	s := &teller{story: trace.NewStory(false)}
	s.record("job", 1, "shop/work", &trace.Start{Causes: []trace.Cause{outside("you", "jobs", "Job", "work")}})
	s.reconcile("scheduler", 2, "shop/work-a", by(1), done, write("patch", "pods", "Pod", "work-a"))
	late := write("create", "pods", "Pod", "work-a")
	late.Latency = trace.Duration(time.Millisecond)
	s.record("job", 1, "shop/work", late)
	s.record("job", 1, "shop/work", &done)
	root := s.story.Take()[0]
	job := root.Steps[0]
	if scheduler := job.Steps[0]; job.First().After(scheduler.First()) || root.First().After(job.First()) {
		t.Errorf("the Job at %s, its pod at %s, its node at %s", root.First(), job.First(), scheduler.First())
	}
}

// TestReplicasOfAnyType: a custom resource may have something else than a number there, that cannot be compared by ==.
func TestReplicasOfAnyType(t *testing.T) {
	list := func(n int) trace.Change {
		return *trace.ChangeFrom(func() []fields.Change {
			return []fields.Change{{Path: "spec.replicas", Old: []any{int64(n)}, New: []any{int64(n + 1)}}}
		})
	}
	story := trace.NewStory(false)
	for n := range 4 {
		id := trace.ReconcileID(n + 1)
		change := list(n)
		request := &trace.Request{
			Verb: "update", Code: 200, Change: &change,
			Object: trace.Object{Group: "example.com", Resource: "widgets", Kind: "Widget", Name: []string{"a", "b"}[n%2]},
		}
		story.Record(&trace.Event{Controller: "op", Key: "k", Reconcile: id, Detail: &trace.Start{}})
		story.Record(&trace.Event{Controller: "op", Key: "k", Reconcile: id, Detail: request})
		story.Record(&trace.Event{Controller: "op", Key: "k", Reconcile: id, Detail: &trace.End{Outcome: trace.Done}})
	}
	if steps := story.Take(); len(steps) != 1 || len(steps[0].Acts) != 2 {
		t.Errorf("%d steps are told, want one with an act for each object", len(steps))
	}
}
