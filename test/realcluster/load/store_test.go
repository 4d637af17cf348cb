package load

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// TestFillStore makes the same Deployments by the API and by the store, and reads both by the API.
func TestFillStore(t *testing.T) {
	cluster, err := realcluster.Start(t.Context(), realcluster.Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop() //nolint:errcheck // what it says of its end is tested where it is started
	options := Options{Objects: 4 * FamilySize, Namespaces: 2, Prefix: "asked", First: 3, Parallel: 2, Owners: byNobody}
	fill(t, cluster, options)
	options.Prefix, options.Etcd = "stored", cluster.Etcd()
	fill(t, cluster, options)
	client := kubernetes.NewForConfigOrDie(cluster.Config())
	for n := 1; n <= options.Namespaces; n++ {
		stored, asked := fmt.Sprintf("stored-%d", n), fmt.Sprintf("asked-%d", n)
		checkNamespace(t, client, stored)
		if diff := gocmp.Diff(everything(t, client, asked), everything(t, client, stored)); diff != "" {
			t.Errorf("%s differs from %s (-asked +stored):\n%s", stored, asked, diff)
		}
	}
}

func byNobody(n int) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: fmt.Sprint("node-", n), UID: "none"}}
}

func fill(t *testing.T, cluster *realcluster.Cluster, o Options) {
	t.Helper()
	if made, err := Fill(t.Context(), cluster.Config(), o); err != nil || made != o.Objects {
		t.Fatalf("made %d objects, want %d: %v", made, o.Objects, err)
	}
}

// everything is what the namespace holds, without what no two objects have in common: names are told by the keys, and
// owners by name.
func everything(t *testing.T, client kubernetes.Interface, namespace string) map[string]any {
	t.Helper()
	found := map[string]any{}
	deployments, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		forget(&d.ObjectMeta)
		d.Status.Conditions = nil // times
		found["deployment "+d.Name] = d
	}
	sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rs := range sets.Items {
		forget(&rs.ObjectMeta)
		found["replicaset "+rs.Name] = rs
	}
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		forget(&pod.ObjectMeta)
		forgetTimes(&pod)
		found["pod "+pod.Name] = pod
	}
	return found
}

var uid = regexp.MustCompile(`[0-9a-f-]{36}`)

func forget(meta *metav1.ObjectMeta) {
	meta.Namespace, meta.UID, meta.ResourceVersion, meta.CreationTimestamp = "", "", "", metav1.Time{}
	for i := range meta.OwnerReferences {
		meta.OwnerReferences[i].UID = ""
	}
	slices.SortFunc(meta.ManagedFields, func(a, b metav1.ManagedFieldsEntry) int { return cmp.Compare(a.Manager, b.Manager) }) // by time, else
	for i := range meta.ManagedFields {
		meta.ManagedFields[i].Time = nil
		fields := meta.ManagedFields[i].FieldsV1
		fields.SetRawString(uid.ReplaceAllString(fields.GetRawString(), "UID"))
	}
}

// forgetTimes forgets the names of volumes of tokens, too, which admission draws by lot.
func forgetTimes(pod *corev1.Pod) {
	pod.Status.StartTime, pod.Status.Conditions, pod.Status.ContainerStatuses = nil, nil, nil
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].Name = ""
	}
	for c := range pod.Spec.Containers {
		for m := range pod.Spec.Containers[c].VolumeMounts {
			pod.Spec.Containers[c].VolumeMounts[m].Name = ""
		}
	}
}

// TestLike: no two families share a name or an identifier, or those of one would be taken for those of the other.
func TestLike(t *testing.T) {
	f := &filler{}
	first := &family{deployment: f.deployment(0)}
	for revision := 1; revision <= revisions; revision++ {
		first.sets = append(first.sets, replicaSet(first.deployment, 0, revision))
	}
	for i := range pods {
		first.pods = append(first.pods, pod(first.sets[revisions-1], 0, i))
	}
	seen := map[string]bool{}
	for n := range 3 {
		made := first.like(f, "ns", n)
		all := []metav1.Object{made.deployment}
		for _, rs := range made.sets {
			checkOwner(t, rs, made.deployment)
			all = append(all, rs)
		}
		for _, p := range made.pods {
			checkOwner(t, p, made.sets[revisions-1])
			all = append(all, p)
		}
		for _, o := range all {
			if uid := string(o.GetUID()); uid == "" || seen[uid] || seen[fmt.Sprintf("%T %s", o, o.GetName())] {
				t.Errorf("%T %s has the identifier %q or the name of another object", o, o.GetName(), uid)
			}
			seen[string(o.GetUID())], seen[fmt.Sprintf("%T %s", o, o.GetName())] = true, true
		}
	}
	if first.deployment.UID != "" {
		t.Error("making its like has changed the first family")
	}
}

func checkOwner(t *testing.T, o, owner metav1.Object) {
	t.Helper()
	if ref := metav1.GetControllerOf(o); ref == nil || ref.UID != owner.GetUID() || ref.Name != owner.GetName() {
		t.Errorf("%s is owned by %v, want %s", o.GetName(), ref, owner.GetName())
	}
}
