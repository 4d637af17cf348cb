package interaction_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var (
	web     = trace.Object{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web"}
	webRS   = trace.Object{Group: "apps", Version: "v1", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"}
	changed = func(path string) *trace.Change {
		return trace.ChangeFrom(func() []fields.Change { return []fields.Change{{Path: path, Old: 1, New: 2}} })
	}
	deployments = interaction.Kind{Group: "apps", Kind: "Deployment"}
	replicasets = interaction.Kind{Group: "apps", Kind: "ReplicaSet"}
)

// run is a trace that is made step by step.
type run struct {
	*interaction.Recorder
	id trace.ReconcileID
}

// watched is a change of an object by a controller, or from outside if id is 0.
func (r *run) watched(of trace.Object, id trace.ReconcileID, writer, path string) *trace.Watch {
	w := &trace.Watch{Event: trace.Modified, Object: of, WrittenBy: id, Change: changed(path)}
	if id == 0 {
		w.Manager = trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: writer} })
	} else {
		w.Writer = writer
	}
	r.Record(&trace.Event{Detail: w})
	return w
}

// reconciles is a reconcile for these watch events, with these requests.
func (r *run) reconciles(controller string, causes []*trace.Watch, requests ...*trace.Request) trace.ReconcileID {
	r.id++
	start, writes := &trace.Start{}, 0
	for _, w := range causes {
		start.Causes = append(start.Causes, trace.Cause{Type: trace.CauseWatch, Watch: w})
	}
	e := trace.Event{Controller: controller, Reconcile: r.id, Key: "shop/web"}
	emit := func(d trace.Detail) {
		e := e
		e.Detail = d
		r.Record(&e)
	}
	emit(start)
	for _, q := range requests {
		emit(q)
		if q.IsWrite() && !q.Failed() {
			writes++
		}
	}
	emit(&trace.End{Outcome: trace.Done, Writes: writes})
	return r.id
}

func update(of trace.Object, subresource, path string) *trace.Request {
	return &trace.Request{Verb: "update", Object: of, Subresource: subresource, Code: 200, Change: changed(path)}
}

// TestGraph: who made whom reconcile, what was sent, and each lint.
func TestGraph(t *testing.T) {
	r := &run{Recorder: interaction.NewRecorder()}
	conflict := &trace.Request{Verb: "update", Object: web, Subresource: "status", Code: 409, Reason: "Conflict"}
	create := &trace.Request{Verb: "create", Object: webRS, Code: 201}
	create.UID = "u1"
	owned := &trace.Request{Verb: "create", Object: webRS, Code: 201, Owner: "web"}
	get := &trace.Request{Verb: "get", Object: trace.Object{Version: "v1", Resource: "secrets", Kind: "Secret"}, Code: 200}
	discovery := &trace.Request{Verb: "get", Object: trace.Object{Resource: "/apis"}, Code: 200}

	scaled := r.watched(web, 0, "kubectl", "spec.replicas")
	first := r.reconciles("deployment", []*trace.Watch{scaled}, create, owned, conflict, get, discovery)
	made := &trace.Watch{Event: trace.Added, Object: webRS, WrittenBy: first, Writer: "deployment"}
	r.Record(&trace.Event{Detail: made})
	second := r.reconciles("replicaset", []*trace.Watch{made}, update(webRS, "status", "status.conditions[type=A].status"))
	status := r.watched(webRS, second, "replicaset", "status.conditions[type=A].status")
	r.reconciles("replicaset", []*trace.Watch{status})
	r.reconciles("deployment", []*trace.Watch{status, made})
	r.watched(web, second, "hpa", "spec.replicas")
	r.watched(web, 0, "kubectl", "spec.replicas")

	got := r.Graph(map[string][]schema.GroupKind{"deployment": {{Kind: "Pod"}}})
	want := interaction.Graph{
		Controllers: []interaction.Controller{
			{
				Name: "deployment", Reconciles: 2,
				Watches: []interaction.Watched{
					{Kind: deployments, Reconciles: 1, By: []interaction.Writer{{Name: "kubectl", Outside: true, Reconciles: 1}}},
					{Kind: interaction.Kind{Kind: "Pod"}},
					{Kind: replicasets, Reconciles: 1, By: []interaction.Writer{
						{Name: "deployment", Reconciles: 1}, {Name: "replicaset", Reconciles: 1}}},
				},
				Reads: []interaction.Requests{{Kind: interaction.Kind{Kind: "Secret"}, Verb: "get", Requests: 1}},
				Writes: []interaction.Requests{
					{Kind: deployments, Subresource: "status", Verb: "update", Conflicts: 1},
					{Kind: replicasets, Verb: "create", Requests: 2},
				},
			},
			{
				Name: "replicaset", Reconciles: 2,
				Watches: []interaction.Watched{{Kind: replicasets, Reconciles: 2, By: []interaction.Writer{
					{Name: "deployment", Reconciles: 1}, {Name: "replicaset", Reconciles: 1}}}},
				Writes: []interaction.Requests{{
					Kind: replicasets, Subresource: "status", Verb: "update", Requests: 1, Fields: []string{"status.conditions"},
				}},
			},
		},
		Lints: []interaction.Lint{
			{
				Type: interaction.SeveralWriters, Writers: []string{"hpa", "kubectl"}, Of: &deployments,
				Field: "spec.replicas", Example: "shop/web", Count: 2,
			},
			{
				Type: interaction.Cycle, Count: 1,
				Path: []interaction.Step{{"deployment", replicasets}, {"replicaset", replicasets}},
			},
			{Type: interaction.OwnWrites, Controller: "replicaset", Of: &replicasets, Count: 1, Idle: 1},
			{Type: interaction.UnwatchedRead, Controller: "deployment", Of: &interaction.Kind{Kind: "Secret"}, Count: 1},
			{Type: interaction.NoOwner, Controller: "deployment", Of: &replicasets, Count: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
	for _, l := range r.Graph(nil).Lints {
		if l.Type == interaction.UnwatchedRead {
			t.Errorf("what is watched is not known, and yet: %+v", l)
		}
	}
}

// TestPrograms: what a program outside does is known by its requests. A person with kubectl is no program to judge.
func TestPrograms(t *testing.T) {
	r := &run{Recorder: interaction.NewRecorder()}
	lease := trace.Object{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Kind: "Lease", Name: "leader", UID: "u2"}
	for _, program := range []string{"kubectl", "manager"} {
		for _, q := range []trace.Request{
			{Verb: "create", Object: lease, Code: 201}, {Verb: "create", Object: webRS, Code: 201, DryRun: true},
			{Verb: "watch", Object: web, Code: 200}, {Verb: "list", Object: web, Code: 200},
			{Verb: "get", Object: web, Code: 404}, {Verb: "list", Object: webRS, Code: 200}, *update(web, "", "spec.selector"),
		} {
			r.Record(&trace.Event{Detail: &trace.ClientRequest{Program: program, Request: q}})
		}
		r.watched(web, 0, "author", "spec.replicas") // what the update has changed, by all who saw it
	}
	want := interaction.Controller{
		Name: "manager", Program: true, Watches: []interaction.Watched{{Kind: deployments}},
		Reads: []interaction.Requests{
			{Kind: deployments, Verb: "get", Missing: 1},
			{Kind: deployments, Verb: "list", Requests: 1}, {Kind: replicasets, Verb: "list", Requests: 1},
		},
		Writes: []interaction.Requests{
			{Kind: deployments, Verb: "update", Requests: 1, Fields: []string{"spec.replicas"}},
			{Kind: interaction.Kind{Group: "coordination.k8s.io", Kind: "Lease"}, Verb: "create", Requests: 1},
		},
	}
	got := r.Graph(nil)
	if diff := cmp.Diff(want, got.Controllers[1]); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
	lints := []interaction.Lint{{Type: interaction.UnwatchedRead, Controller: "manager", Of: &replicasets, Count: 1}}
	if diff := cmp.Diff(lints, got.Lints); diff != "" {
		t.Errorf("lints (-want +got):\n%s", diff)
	}
}

// TestCycles: the shortest cycle through each edge, once, and none where all goes one way.
func TestCycles(t *testing.T) {
	for _, row := range []struct {
		reason string
		wakes  [][2]string // writer, who reconciles
		want   []string    // the controllers of each cycle
	}{
		{"one way", [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}}, nil},
		{"itself is none", [][2]string{{"a", "a"}}, nil},
		{"two, whoever comes first", [][2]string{{"b", "a"}, {"a", "b"}}, []string{"ab"}},
		{"three, and a shorter way", [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"b", "a"}}, []string{"ab", "abc"}},
		{"two apart", [][2]string{{"a", "b"}, {"b", "a"}, {"c", "d"}, {"d", "c"}}, []string{"ab", "cd"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := &run{Recorder: interaction.NewRecorder()}
			for _, w := range row.wakes {
				r.reconciles(w[1], []*trace.Watch{r.watched(web, 99, w[0], "status.replicas")})
			}
			var got []string
			for _, l := range r.Graph(nil).Lints {
				if l.Type != interaction.Cycle {
					continue
				}
				var path string
				for _, s := range l.Path {
					path += s.Controller
				}
				got = append(got, path)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("cycles (-want +got):\n%s", diff)
			}
		})
	}
}
