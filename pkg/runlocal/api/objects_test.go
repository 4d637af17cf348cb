package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestEventsExpireByTheClock(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	f := start(t, Options{Clock: clock})
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "default"},
	}
	if _, err := f.CoreV1().Events(f.namespace).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.EventsV1().Events(f.namespace).Get(t.Context(), "e", metav1.GetOptions{}); err != nil {
		t.Errorf("an event of v1 in events.k8s.io/v1: %v", err)
	}
	clock.Step(eventTTL - time.Minute)
	if _, err := f.CoreV1().Events(f.namespace).Get(t.Context(), "e", metav1.GetOptions{}); err != nil {
		t.Errorf("a minute before its end: %v", err)
	}
	clock.Step(2 * time.Minute)
	eventually(t, "the event is gone", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().Events(f.namespace).Get(ctx, "e", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func TestSelectors(t *testing.T) {
	f := plain.fixture(t)
	one, two := f.namespace+"-1", f.namespace+"-2" // nodes, and all pods of the server are listed
	names := []string{f.namespace + "-p0", f.namespace + "-p1", f.namespace + "-p2"}
	for i, node := range []string{one, two, one} {
		p := pod(names[i])
		p.Spec.NodeName = node
		f.createPod(t, p)
	}
	for _, tt := range []struct {
		options metav1.ListOptions
		want    []string
		reason  string
	}{
		{metav1.ListOptions{FieldSelector: "spec.nodeName=" + one}, []string{names[0], names[2]}, "kubelets list by node"},
		{metav1.ListOptions{FieldSelector: "metadata.name=" + names[1]}, []string{names[1]}, "kubectl get -w lists one name"},
		{metav1.ListOptions{LabelSelector: "app in (" + names[1] + "," + names[2] + ")"}, []string{names[1], names[2]}, "labels"},
		{metav1.ListOptions{FieldSelector: "spec.nodeName=" + one, LabelSelector: "app=" + names[1]}, nil, "both must hold"},
	} {
		list, err := f.CoreV1().Pods("").List(t.Context(), tt.options)
		if err != nil {
			t.Errorf("%+v: %v", tt.options, err)
			continue
		}
		var got []string
		for _, p := range list.Items {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v gives %v, want %v: %s", tt.options, got, tt.want, tt.reason)
		}
	}
}

func TestDeletionPropagation(t *testing.T) {
	f := plain.fixture(t)
	for _, tt := range []struct {
		policy    metav1.DeletionPropagation
		finalizer string
		reason    string
	}{
		{metav1.DeletePropagationForeground, metav1.FinalizerDeleteDependents, "waits for the garbage collector to delete dependents"},
		{metav1.DeletePropagationOrphan, metav1.FinalizerOrphanDependents, "waits for the garbage collector to orphan them"},
		{metav1.DeletePropagationBackground, "", "is gone at once"},
	} {
		if _, err := f.AppsV1().Deployments(f.namespace).Create(t.Context(), deployment("web"),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := f.AppsV1().Deployments(f.namespace).Delete(t.Context(), "web",
			metav1.DeleteOptions{PropagationPolicy: &tt.policy}); err != nil {
			t.Errorf("%s: %v", tt.policy, err)
		}
		got, err := f.AppsV1().Deployments(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if tt.finalizer == "" {
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: %v, but it %s", tt.policy, err, tt.reason)
			}
			continue
		}
		if err != nil || got.DeletionTimestamp == nil || !slices.Contains(got.Finalizers, tt.finalizer) {
			t.Fatalf("%s: finalizers %v, %v, but it %s", tt.policy, got.Finalizers, err, tt.reason)
		}
		got.Finalizers = nil
		if _, err := f.AppsV1().Deployments(f.namespace).Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeleteCollection(t *testing.T) {
	f := plain.fixture(t)
	for i := range 3 {
		if _, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), configMap("c"+strconv.Itoa(i)),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.CoreV1().ConfigMaps(f.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := f.CoreV1().ConfigMaps(f.namespace).List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(list.Items) != 0 {
		t.Errorf("%d config maps are left, %v", len(list.Items), err)
	}
}

func TestGracefulDeletionOfPods(t *testing.T) {
	f := plain.fixture(t)
	p := pod("p")
	p.Spec.NodeName = "n1"
	f.createPod(t, p)
	makeReady(t, f, "p")
	if err := f.CoreV1().Pods(f.namespace).Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := f.CoreV1().Pods(f.namespace).Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 30 {
		t.Errorf("a running pod on a node waits for its kubelet: %v, %v", got.DeletionTimestamp, err)
	}
	f.createPod(t, pod("unscheduled"))
	if err := f.CoreV1().Pods(f.namespace).Delete(t.Context(), "unscheduled", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CoreV1().Pods(f.namespace).Get(t.Context(), "unscheduled",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod on no node is gone at once: %v", err)
	}
}

func TestNamespaceWaitsForItsFinalizer(t *testing.T) {
	f := plain.fixture(t)
	shop := f.namespace + "-shop"
	if _, err := f.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := f.CoreV1().Namespaces().Delete(t.Context(), shop, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	namespace, err := f.CoreV1().Namespaces().Get(t.Context(), shop, metav1.GetOptions{})
	if err != nil || namespace.Status.Phase != corev1.NamespaceTerminating {
		t.Fatalf("the namespace is %q, %v", namespace.Status.Phase, err)
	}
	// The server's loop must leave a namespace that is about to go alone.
	if err := (&defaultAccounts{client: f}).ensure(t.Context(), shop); err != nil {
		t.Errorf("a terminating namespace: %v", err)
	}
	if err := (&defaultAccounts{client: f}).ensure(t.Context(), "nowhere"); err != nil {
		t.Errorf("a namespace that is gone: %v", err)
	}
	if _, err := f.CoreV1().ConfigMaps(shop).Create(t.Context(), configMap("late"),
		metav1.CreateOptions{}); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("an object in a terminating namespace: %v", err)
	}
	namespace.Spec.Finalizers = nil
	if _, err := f.CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CoreV1().Namespaces().Get(t.Context(), shop, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its finalizer: %v", err)
	}
}

func TestMetadataClientAndTables(t *testing.T) {
	f := plain.fixture(t)
	f.createPod(t, pod("p"))
	client, err := metadata.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	partial, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(f.namespace).Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || partial.UID == "" || partial.Labels["app"] != "p" {
		t.Errorf("the metadata of a pod: %+v, %v", partial, err)
	}
	raw, err := f.CoreV1().RESTClient().Get().Resource("pods").Namespace(f.namespace).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil || len(table.Rows) != 1 ||
		table.ColumnDefinitions[1].Name != "Ready" {
		t.Errorf("the table of pods: %s, %v", raw, err)
	}
}

// Controllers compare written with read resource versions, so these must be one sequence over all resources.
func TestConcurrentWritesHaveTheirOwnVersions(t *testing.T) {
	const writers, each = 8, 20
	f := plain.fixture(t)
	versions := make(chan string, writers*each)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			last := 0
			for i := range each {
				created, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(),
					configMap(fmt.Sprintf("c-%d-%d", w, i)), metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				version, err := strconv.Atoi(created.ResourceVersion)
				if err != nil || version <= last {
					t.Errorf("version %q follows %d", created.ResourceVersion, last)
				}
				last = version
				versions <- created.ResourceVersion
			}
		})
	}
	writing.Wait()
	close(versions)
	seen := map[string]bool{}
	for v := range versions {
		if seen[v] {
			t.Errorf("version %s is given twice", v)
		}
		seen[v] = true
	}
	if len(seen) != writers*each {
		t.Errorf("%d versions for %d writes", len(seen), writers*each)
	}
}

func TestConfigIsACopy(t *testing.T) {
	f := plain.fixture(t)
	mine := f.Config()
	mine.BearerToken = "changed"
	if f.Config().BearerToken == "changed" || f.Config().QPS != -1 ||
		f.Config().ContentType != "application/vnd.kubernetes.protobuf" {
		t.Errorf("the configuration is %+v", f.Config())
	}
}

// TestStoredDefaults: some strategies clear a field that has a default, and a cluster has it again from decoding.
func TestStoredDefaults(t *testing.T) {
	f := plain.fixture(t)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	claims := f.CoreV1().PersistentVolumeClaims(f.namespace)
	created, err := claims.Create(t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]corev1.PersistentVolumeClaimPhase{"the answer": created.Status.Phase,
		"a read": read.Status.Phase} {
		if got != corev1.ClaimPending {
			t.Errorf("%s has phase %q, want Pending", name, got)
		}
	}
}
