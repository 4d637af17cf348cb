package main

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// over are samples of a figure, one a second.
func over(n int, of func(i int) float64) []sample {
	var out []sample
	for i := range n {
		out = append(out, sample{at: time.Duration(i) * time.Second, goroutines: of(i)})
	}
	return out
}

func TestTrend(t *testing.T) {
	const n = 300
	for _, tt := range []struct {
		reason string
		of     func(i int) float64
		leaks  bool
		growth float64
	}{
		{"nothing changes", func(int) float64 { return 500 }, false, 0},
		{"it swings", func(i int) float64 { return 500 + 50*math.Sin(float64(i)/5) }, false, 0},
		{"it grows while caches fill", func(i int) float64 { return float64(min(i, 90)) * 10 }, false, 0},
		{"one more each second", func(i int) float64 { return 500 + float64(i) }, true, n},
		{"steps, as of something that each kill leaves behind", func(i int) float64 { return 500 + float64(i/30)*60 }, true, 600},
		{"peaks, as while the server is away", func(i int) float64 {
			if i%30 < 5 {
				return 2000
			}
			return 500
		}, false, 0},
		{"it shrinks", func(i int) float64 { return 900 - float64(i) }, false, -n},
		{"less than what is noise", func(i int) float64 { return 20 + float64(i)/20 }, false, 15},
		{"little, of much", func(i int) float64 { return 5000 + float64(i) }, false, n},
	} {
		got := trendOf(over(n, tt.of), n*time.Second, func(s sample) float64 { return s.goroutines })
		if got.leaks(40) != tt.leaks || math.Abs(got.growth-tt.growth) > 25 {
			t.Errorf("%s: %+v, leaks %v; want a growth of %v, %v", tt.reason, got, got.leaks(40), tt.growth, tt.leaks)
		}
	}
	if got := trendOf(nil, time.Second, func(s sample) float64 { return s.heap }); got != (trend{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		reason, args string
		broken       bool
	}{
		{"as make does it", "-for 30m -kills 10", false},
		{"a short one", "-for 2m -kills 2", false},
		{"without kills", "-for 10s -kills 0", false},
		{"more kills than there is time for", "-for 1m -kills 10", true},
		{"no time", "-for 0s", true},
		{"no clients", "-clients 0", true},
		{"nonsense", "-for long", true},
	} {
		if _, err := parse(strings.Fields(tt.args), io.Discard); (err != nil) != tt.broken {
			t.Errorf("%s: %q: %v", tt.reason, tt.args, err)
		}
	}
}

// good is a world in which everything is as it should.
func good() *world {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: prefix + "0", Name: name, UID: "uid-of-x", Generation: 2}
	}
	pod := corev1.Pod{ObjectMeta: meta("web-1"), Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}}
	pod.Labels = labels("deployment", "web")
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "uid-of-x"}}
	w := &world{
		namespaces: &corev1.NamespaceList{Items: []corev1.Namespace{
			{ObjectMeta: metav1.ObjectMeta{Name: prefix + "0"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
			{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		}},
		deployments: &appsv1.DeploymentList{Items: []appsv1.Deployment{{
			ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
		}}},
		pods:       &corev1.PodList{Items: []corev1.Pod{pod}},
		accounts:   &corev1.ServiceAccountList{Items: []corev1.ServiceAccount{{ObjectMeta: meta("default")}}},
		configMaps: &corev1.ConfigMapList{Items: []corev1.ConfigMap{{ObjectMeta: meta("kube-root-ca.crt")}}},
	}
	w.replicaSets, w.statefulSets, w.daemonSets = &appsv1.ReplicaSetList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}
	w.jobs, w.services, w.slices = &batchv1.JobList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	w.budgets = &policyv1.PodDisruptionBudgetList{}
	return w
}

func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		reason string
		spoil  func(*world)
		want   string // in what is said; empty for nothing
	}{
		{"all is well", func(*world) {}, ""},
		{"a change that was not observed", func(w *world) { w.deployments.Items[0].Generation = 3 }, "Deployment soak-0/web: 1 wanted"},
		{"too few pods", func(w *world) { w.deployments.Items[0].Status.AvailableReplicas = 0 }, "Deployment soak-0/web: 1 wanted"},
		{"a pod that has not started", func(w *world) { w.pods.Items[0].Status.Phase = corev1.PodPending }, "Pod soak-0/web-1: is Pending"},
		{"a dependent without its owner", func(w *world) { w.pods.Items[0].OwnerReferences[0].UID = "gone" }, "its owner Deployment web is gone"},
		{"a deletion that does not end", func(w *world) { w.pods.Items[0].DeletionTimestamp = &metav1.Time{} }, "is being deleted"},
		{"a namespace without its account", func(w *world) { w.accounts.Items = nil }, "has no ServiceAccount default"},
		{"a namespace without the root CA", func(w *world) { w.configMaps.Items = nil }, "has no ConfigMap kube-root-ca.crt"},
		{"a namespace that does not go", func(w *world) { w.namespaces.Items[0].Status.Phase = corev1.NamespaceTerminating }, "is Terminating"},
		{"a service without addresses", func(w *world) {
			w.services.Items = []corev1.Service{{
				ObjectMeta: metav1.ObjectMeta{Namespace: prefix + "0", Name: "s"}, Spec: corev1.ServiceSpec{Selector: labels("deployment", "web")},
			}}
		}, "its pods are [10.0.0.1], its addresses []"},
	} {
		w := good()
		tt.spoil(w)
		got := strings.Join(w.wrong(), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// TestVerdict: what a soak has found is an error.
func TestVerdict(t *testing.T) {
	fine := func() *report {
		return &report{options: options{length: telling, kills: 2}, killed: 2, away: 2, back: 2, samples: over(300, func(int) float64 { return 500 })}
	}
	for _, tt := range []struct {
		reason string
		spoil  func(*report)
		want   string
	}{
		{"all is well", func(*report) {}, ""},
		{"goroutines grow", func(r *report) { r.samples = over(300, func(i int) float64 { return 500 + float64(i) }) }, "goroutines: grow by"},
		{"goroutines are left", func(r *report) { r.after = sample{at: 1, goroutines: 900} }, "goroutines: 900.0 more at the end"},
		{"they grow in so short a time that it says nothing", func(r *report) {
			r.length, r.samples = telling-1, over(300, func(i int) float64 { return 500 + float64(i) })
		}, ""},
		{"it was not killed", func(r *report) { r.killed = 1 }, "killed 1 times, not 2"},
		{"nothing was reported", func(r *report) { r.away, r.back = 0, 0 }, "said 0 times"},
		{"it never came back", func(r *report) { r.back = 1 }, "1 times that it is back"},
		{"the plugin failed", func(r *report) { r.exit = 1 }, "ended with 1"},
	} {
		r := fine()
		tt.spoil(r)
		err := r.verdict()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
	}
}

func TestHeapAlloc(t *testing.T) {
	for _, tt := range []struct {
		profile string
		want    float64
		broken  bool
		reason  string
	}{
		{"heap profile: 1: 2 [3: 4] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 7\n# HeapAlloc = 42\n# HeapSys = 9\n", 42, false, "among the others"},
		{"# HeapAlloc = 42", 42, false, "at the end"},
		{"# HeapAlloc = much\n", 0, true, "no number"},
		{"heap profile: none\n", 0, true, "another format"},
	} {
		if got, err := heapAlloc(tt.profile); got != tt.want || (err != nil) != tt.broken {
			t.Errorf("%s: %v, %v, want %v", tt.reason, got, err, tt.want)
		}
	}
}
