package controllers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name),
		},
	}
}

func replicaSetOf(name string, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name),
		},
	}
}

// traced runs both controllers on a deployment of three pods until its Events were sent and nothing is left to do.
func traced(t *testing.T) *session {
	t.Helper()
	s := recordedSession(t)
	s.run(t, 0, "deployment", "replicaset")
	if _, err := s.client.AppsV1().Deployments("default").Create(t.Context(), deploymentOf("web", 3),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "three pods, four Events and idle controllers", func() bool {
		return len(s.requests("create", "pods")) == 3 && len(s.requests("create", "events")) == 4 && s.tap.State().Idle()
	})
	return s
}

func TestCausesNameEventAndHandler(t *testing.T) {
	t.Parallel()
	s := traced(t)
	create := s.requests("create", "replicasets")
	if len(create) != 1 || create[0].Controller != "deployment" || create[0].Key != "default/web" ||
		create[0].Reconcile == 0 {
		t.Fatalf("want one ReplicaSet, created by a reconcile of deployment default/web; got %+v", create)
	}
	type first struct {
		Event     trace.WatchType
		Kind      string
		Handler   string
		WrittenBy trace.ReconcileID
	}
	want := map[string]first{
		"deployment": {Event: trace.Added, Kind: "Deployment", Handler: "addDeployment > enqueue"},
		"replicaset": {Event: trace.Added, Kind: "ReplicaSet", Handler: "addRS > enqueueRS", WrittenBy: create[0].Reconcile},
	}
	got := map[string]first{}
	for _, e := range s.log.list() {
		start, ok := e.Detail.(*trace.Start)
		if !ok {
			continue
		}
		if len(start.Causes) == 0 {
			t.Errorf("reconcile %d of %s %s has no cause", e.Reconcile, e.Controller, e.Key)
			continue
		}
		if _, later := got[e.Controller]; !later {
			c := start.Causes[0]
			got[e.Controller] = first{Event: c.Watch.Event, Kind: c.Watch.Kind, Handler: c.Handler, WrittenBy: c.Watch.WrittenBy}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first causes (-want +got):\n%s", diff)
	}
}

func TestDecisionsAndWritesBelongToTheReconcile(t *testing.T) {
	t.Parallel()
	s := traced(t)
	decided := map[trace.ReconcileID]trace.Values{}
	for _, e := range s.log.list() {
		if l, ok := e.Detail.(*trace.Log); ok && l.Message == "Too few replicas" {
			decided[e.Reconcile] = l.Values
		}
	}
	creates := s.requests("create", "pods")
	by := creates[0].Reconcile
	key := creates[0].Key
	want := map[trace.ReconcileID]trace.Values{by: {{Key: "replicaSet", Value: key}, {Key: "need", Value: "3"},
		{Key: "creating", Value: "3"}}}
	if diff := cmp.Diff(want, decided); diff != "" {
		t.Errorf("decisions by reconcile (-want +got):\n%s", diff)
	}
	for _, e := range creates {
		if e.Reconcile != by || e.Controller != "replicaset" {
			t.Errorf("pod %s was created by reconcile %d of %q, want %d of replicaset", e.Detail.(*trace.Request).Name,
				e.Reconcile, e.Controller, by)
		}
	}
}

func TestEventsBelongToTheReconcileThatRecordedThem(t *testing.T) {
	t.Parallel()
	s := traced(t)
	want := map[string]trace.ReconcileID{}
	for _, e := range s.requests("create", "pods") {
		want["Created pod: "+e.Detail.(*trace.Request).Name] = e.Reconcile
	}
	for _, e := range s.requests("create", "replicasets") {
		want["Scaled up replica set "+e.Detail.(*trace.Request).Name+" from 0 to 3"] = e.Reconcile
	}
	got := map[string]trace.ReconcileID{}
	for _, e := range s.requests("create", "events") {
		got[e.Detail.(*trace.Request).Recorded.Message] = e.Reconcile
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reconciles by message (-want +got):\n%s", diff)
	}
}

func TestWatchEventsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	s := traced(t)
	type id struct{ uid, version, event string }
	seen := map[id]uint64{}
	for _, e := range s.log.list() {
		w, ok := e.Detail.(*trace.Watch)
		if !ok {
			continue
		}
		this := id{w.UID, w.ResourceVersion, string(w.Event)}
		if before, twice := seen[this]; twice {
			t.Errorf("%s of %s %s at %s was recorded as %d and as %d", w.Event, w.Kind, w.Name, w.ResourceVersion, before, e.Seq)
		}
		seen[this] = e.Seq
		if w.WrittenBy == 0 && w.Kind != "Deployment" {
			t.Errorf("%s of %s %s at %s has no writer", w.Event, w.Kind, w.Name, w.ResourceVersion)
		}
	}
}

func TestHandledReachesTheLastEventOfEveryResource(t *testing.T) {
	t.Parallel()
	s := traced(t)
	for _, gr := range []schema.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "replicasets"},
		{Group: "apps", Resource: "deployments"}} {
		eventually(t, gr.String()+" to be handled",
			func() bool { return s.tap.State().Handled[gr] == s.server.LastEvent(gr) })
	}
	eventually(t, "the one delayed key, for the progress deadline", func() bool {
		var delayed []string
		for _, c := range s.tap.State().Controllers {
			for _, q := range c.Queues {
				for _, d := range q.Delayed {
					delayed = append(delayed, c.Name+" "+d.Key)
				}
			}
		}
		return slices.Equal(delayed, []string{"deployment default/web"})
	})
}

func TestEveryPodBelongsToTheReconcileOfItsOwner(t *testing.T) {
	t.Parallel()
	const sets, replicas, workers = 10, 50, 5
	s := recordedSession(t)
	s.run(t, workers, "replicaset")
	for n := range sets {
		rs := replicaSetOf(fmt.Sprintf("set-%02d", n), replicas)
		if _, err := s.client.AppsV1().ReplicaSets("default").Create(t.Context(), rs, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all pods", func() bool { return len(s.requests("create", "pods")) >= sets*replicas })
	pods, err := s.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{}
	for _, p := range pods.Items {
		owners[p.Name] = "default/" + metav1.GetControllerOf(&p).Name
	}
	right := 0
	for _, e := range s.requests("create", "pods") {
		name := e.Detail.(*trace.Request).Name
		if e.Reconcile == 0 || e.Controller != "replicaset" || e.Key != owners[name] {
			t.Errorf("pod %s of %s was created by reconcile %d of %q", name, owners[name], e.Reconcile, e.Key)
			continue
		}
		right++
	}
	if right != sets*replicas {
		t.Errorf("%d of %d pods are attributed to their owner", right, sets*replicas)
	}
}

// TestDaemonSetFollowsNodes adds a node when the set is there, so that both of the controller's queues work.
func TestDaemonSetFollowsNodes(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "daemonset")
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent"),
		},
	}
	if _, err := s.client.AppsV1().DaemonSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "daemonset", activity{
		Causes: []string{"ADDED DaemonSet agent seen by addDaemonset > enqueue"},
		Writes: []string{"create controllerrevisions by default/agent", "update daemonsets/status by default/agent"},
	})
	s.node(t, "node-1")
	s.expectActivity(t, "daemonset", activity{
		Causes: []string{"ADDED Node node-1 seen by addNode", "ADDED Pod agent-* seen by addPod > enqueue"},
		Writes: []string{
			"create controllerrevisions by default/agent", "create pods by default/agent",
			"update daemonsets/status by default/agent",
		},
	})
}

func TestStatefulSetMakesItsFirstPodAndClaim(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "statefulset")
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	replicas := int32(2)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template:             template("web"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim},
		},
	}
	if _, err := s.client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "statefulset", activity{
		Causes: []string{"ADDED Pod web-0 seen by addPod > enqueueStatefulSet",
			"ADDED StatefulSet web seen by enqueueStatefulSet"},
		Writes: []string{
			"create controllerrevisions by default/web", "create persistentvolumeclaims by default/web",
			"create pods by default/web", "update statefulsets/status by default/web",
		},
	})
}
