package lease

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// cluster is an API server, and a client of it.
func cluster(t *testing.T) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	server, err := api.Start(t.Context(), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server.Config(), kubernetes.NewForConfigOrDie(server.Config())
}

// setLease makes a Lease as a runner leaves it. An empty holder has released it.
func setLease(t *testing.T, client kubernetes.Interface, name, holder string, renewed time.Time) {
	t.Helper()
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(1)), RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
	if _, err := client.CoordinationV1().Leases(DefaultNamespace).Create(t.Context(), l,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestManagerActivityInPods(t *testing.T) {
	config, client := cluster(t)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for _, row := range []struct {
		name      string
		reason    string
		container corev1.Container
		state     corev1.ContainerState
	}{
		{"kcm-by-name", "kubeadm's", corev1.Container{Name: "kube-controller-manager", Image: "registry/x:1"}, running},
		{"kcm-by-image", "by its image", corev1.Container{Name: "c", Image: "registry.k8s.io/kube-controller-manager:v1.37.1"}, running},
		{"kcm-by-command", "by its command", corev1.Container{Name: "c", Image: "hyperkube", Command: []string{"/usr/local/bin/kube-controller-manager", "--v=2"}}, running},
		{"no-kcm-crashing", "it does not run", corev1.Container{Name: "kube-controller-manager", Image: "x"}, waiting},
		{"no-kcm-other", "another program", corev1.Container{Name: "coredns", Image: "coredns", Args: []string{"-conf", "/etc/kube-controller-manager.conf"}}, running},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: row.name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{row.container}}}
		pods := client.CoreV1().Pods(DefaultNamespace)
		made, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", row.reason, err)
		}
		made.Status.Phase = corev1.PodRunning
		made.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: row.container.Name, State: row.state, Image: "x", ImageID: "x"}}
		if _, err := pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", row.reason, err)
		}
	}
	found, err := ManagerActivity(t.Context(), config, DefaultNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		got = append(got, s.Name)
	}
	if want := []string{"kcm-by-command", "kcm-by-image", "kcm-by-name"}; !slices.Equal(got, want) {
		t.Errorf("found are %v, want %v", got, want)
	}
}

// never stands in for a runner that never renewed its Lease.
const never = time.Duration(math.MinInt64)

// TestManagerActivityInWrites: a write of the last minute under kube-controller-manager's name is a sign, unless it may
// be a runner's.
func TestManagerActivityInWrites(t *testing.T) {
	config, client := cluster(t)
	for _, row := range []struct {
		reason  string
		manager string
		runner  time.Duration // how long ago a runner last renewed its Lease, less than 0 in the future; never is never
		own     string        // the namespace of this runner's Lease
		ended   *Holder       // of kube-controller-manager's Lease
		want    bool
	}{
		{"kube-controller-manager has written", ManagerName, never, DefaultNamespace, nil, true},
		{"someone else has", "flux", never, DefaultNamespace, nil, false},
		{"a runner has ended just before: it may have been that", ManagerName, time.Second, DefaultNamespace, nil, false},
		{"it may also if this one's Lease is elsewhere", ManagerName, time.Second, "default", nil, false},
		{"a runner has ended long before", ManagerName, time.Hour, DefaultNamespace, nil, true},
		{"one that has been seen to end has", ManagerName, never, DefaultNamespace, &Holder{Renewed: time.Now(), Duration: time.Hour}, false},
		{"one whose clock is ahead may have ended long ago", ManagerName, never, DefaultNamespace, &Holder{Renewed: time.Now().Add(time.Hour)}, true},
		{"so may a runner", ManagerName, -time.Hour, DefaultNamespace, nil, true},
		{"another has written after that one's end", ManagerName, never, DefaultNamespace, &Holder{Renewed: time.Now().Add(-45 * time.Second), Duration: DefaultDuration}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			if row.runner != never {
				setLease(t, client, Name(2, 5), "", time.Now().Add(-row.runner))
			}
			defer func() {
				_ = client.CoordinationV1().Leases(DefaultNamespace).Delete(t.Context(), Name(2, 5),
					metav1.DeleteOptions{}) // few rows have one
				if err := client.AppsV1().Deployments("default").Delete(t.Context(), "web",
					metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}()
			patch := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},
				"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}`
			_, err := client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.ApplyPatchType,
				[]byte(patch), metav1.PatchOptions{FieldManager: row.manager})
			if err != nil {
				t.Fatal(err)
			}
			found, err := ManagerActivity(t.Context(), config, row.own, row.ended)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(found) == 1 && found[0].Name == "web" && !found[0].Written.IsZero(); got != row.want {
				t.Errorf("found are %+v", found)
			}
		})
	}
}

func TestOverlaps(t *testing.T) {
	for _, row := range []struct {
		reason        string
		name          string
		shard, shards int
		want          bool
	}{
		{"its own Lease keeps others out by itself", Name(0, 0), 0, 0, false},
		{"a shard beside a runner that has all", Name(2, 5), 0, 0, true},
		{"a runner that has all beside a shard", Name(0, 0), 2, 5, true},
		{"another shard of as many", Name(3, 5), 2, 5, false},
		{"the same shard keeps others out by itself", Name(2, 5), 2, 5, false},
		{"a shard of another number", Name(2, 3), 2, 5, true},
		{"kube-controller-manager's", ManagerName, 2, 5, false},
		{"another program's", "kubectl-reconcile-operator", 0, 0, false},
		{"what only begins like a shard's", "kubectl-reconcile-2-of-5-too", 0, 0, false},
	} {
		if got := overlaps(row.name, row.shard, row.shards); got != row.want {
			t.Errorf("%s: %s beside %s: %t", row.reason, row.name, Name(row.shard, row.shards), got)
		}
	}
}

// TestOverlappingRunners has a shard that is alive, one that was killed, and one that has released its Lease.
func TestOverlappingRunners(t *testing.T) {
	_, client := cluster(t)
	live := Options{Client: client.CoordinationV1(), Name: Name(1, 3), Identity: "alive", Retry: 20 * time.Millisecond,
		Deadline: time.Minute, Duration: 2 * time.Minute}
	one := held(t, live)
	setLease(t, client, Name(2, 3), "killed", time.Now())
	setLease(t, client, Name(3, 3), "", time.Now())
	var waited []string
	got, err := OverlappingRunners(t.Context(), client.CoordinationV1(), DefaultNamespace, 0, 0, func(held []Runner) {
		for _, s := range held {
			waited = append(waited, fmt.Sprintf("%s by %s", s.Lease, s.Identity))
		}
	}, time.Millisecond)
	if err != nil || len(got) != 1 || got[0].Lease != Name(1, 3) || got[0].Identity != "alive" {
		t.Errorf("the runners are %+v (%v), want the one that is alive", got, err)
	}
	if want := Name(1, 3) + " by alive, " + Name(2, 3) + " by killed"; strings.Join(waited, ", ") != want {
		t.Errorf("waited for %v, want %s", waited, want)
	}
	got, err = OverlappingRunners(t.Context(), client.CoordinationV1(), DefaultNamespace, 2, 3,
		func([]Runner) { t.Error("another shard of three is looked at") }, time.Millisecond)
	if err != nil || got != nil {
		t.Errorf("the runners of another shard of three are %+v (%v)", got, err)
	}
	if err := one.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNewHolderIsWatched: a new holder is seen at once, however seldom the Lease is read.
func TestNewHolderIsWatched(t *testing.T) {
	_, client := cluster(t)
	setLease(t, client, ManagerName, "", time.Now())
	got := make(chan *Holder, 1)
	go func() {
		holder, err := WaitForNewHolder(t.Context(), client.CoordinationV1(), DefaultNamespace, ManagerName, nil,
			NewHolderOptions{PollInterval: time.Hour, Deadline: time.Hour})
		if err != nil {
			t.Error(err)
		}
		got <- holder
	}()
	leases := client.CoordinationV1().Leases(DefaultNamespace)
	for { // the watch may not have begun
		l, err := leases.Get(t.Context(), ManagerName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l.Spec.HolderIdentity = new("cp-1_0a")
		if _, err := leases.Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case holder := <-got:
			if holder == nil || holder.Identity != "cp-1_0a" {
				t.Errorf("the Lease is taken by %+v", holder)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
