package tap

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// managed is an entry of managedFields, written so many seconds after noon.
func managed(manager, subresource string, second int, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Date(2026, 1, 2, 12, 0, second, 0, time.UTC))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		Subresource: subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestChanger(t *testing.T) {
	const replicas, image = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}}}`
	const both = `{"f:spec":{"f:replicas":{},"f:template":{}}}`
	set := func(paths ...string) []fields.Change {
		var out []fields.Change
		for _, p := range paths {
			out = append(out, fields.Change{Path: p, Old: int64(1), New: int64(2)})
		}
		return out
	}
	for _, test := range []struct {
		reason  string
		fields  []metav1.ManagedFieldsEntry
		changes []fields.Change
		want    string
	}{
		{"the owner of the field", []metav1.ManagedFieldsEntry{managed("flux", "", 1, replicas),
			managed("kubectl", "", 9, image)}, set("spec.replicas"), "flux"},
		{"of an entry of a list, by its key",
			[]metav1.ManagedFieldsEntry{managed("flux", "", 9, replicas),
				managed("kubectl", "", 1, image)}, set("spec.template.spec.containers[name=web].image"), "kubectl"},
		{"not of another entry", []metav1.ManagedFieldsEntry{managed("kubectl", "", 1, image)},
			set("spec.template.spec.containers[name=other].image"), ""},
		{"of two owners the later", []metav1.ManagedFieldsEntry{managed("flux", "", 5, replicas),
			managed("kubectl", "", 1, replicas)}, set("spec.replicas"), "flux"},
		{"in one second the one that owns more of what has changed",
			[]metav1.ManagedFieldsEntry{managed("kubectl", "", 5, replicas),
				managed("flux", "", 5, both)}, set("spec.replicas", "spec.template.x"), "flux"},
		{"what is owned whole", []metav1.ManagedFieldsEntry{managed("flux", "", 5, `{"f:spec":{"f:tolerations":{}}}`)},
			set("spec.tolerations[key=a].effect"), "flux"},
		{"a name with dots", []metav1.ManagedFieldsEntry{managed("flux", "", 5,
			`{"f:metadata":{"f:annotations":{".":{},"f:example.com/a.b":{}}}}`)}, set("metadata.annotations[example.com/a.b]"), "flux"},
		{"who removes a field owns it no more", []metav1.ManagedFieldsEntry{managed("kubectl", "", 5, replicas)},
			[]fields.Change{{Path: "spec.replicas", Old: int64(1)}}, ""},
		{"fields without an owner", []metav1.ManagedFieldsEntry{managed("kubectl", "", 5, replicas)},
			set("metadata.generation", "metadata.deletionTimestamp"), ""},
		{"a status, by who wrote it", []metav1.ManagedFieldsEntry{managed("kubectl", "", 5, replicas),
			managed("kube-controller-manager", "status", 5,
				`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}`)},
			set("status.conditions[type=Ready].status"), "kube-controller-manager"},
		{"no times", []metav1.ManagedFieldsEntry{{Manager: "flux", FieldsV1: metav1.NewFieldsV1(replicas)}},
			set("spec.replicas"), "flux"},
		{"nothing that can be read", []metav1.ManagedFieldsEntry{managed("flux", "", 1, "nonsense"), {Manager: "flux"},
			managed("a", "", 1, `{"f:spec":{"k:[":{}}}`)}, set("spec[name=a].b", "spec..x", "[", ""), ""},
	} {
		if got := changer(test.fields, test.changes).Manager; got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

// TestWatchEventsNameTheirManager: objects in informers have no managedFields, and yet their events name
// who wrote.
func TestWatchEventsNameTheirManager(t *testing.T) {
	tap, sink := recording()
	pod := testPod("web", "a")
	pod.ResourceVersion = "1"
	client := fake.NewClientset(testPod("old", "a"))
	factory := tap.Informers(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	ctx, stop := t.Context(), make(chan struct{})
	factory.StartWithContext(ctx)
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	eventually(t, "the initial list", pods.HasSynced)
	api := client.CoreV1().Pods("default")
	step := func(version, by string, write func(*corev1.Pod)) {
		t.Helper()
		pod = pod.DeepCopy()
		pod.ResourceVersion = version
		write(pod)
		var err error
		if version == "2" {
			pod, err = api.Create(ctx, pod, metav1.CreateOptions{FieldManager: by})
		} else {
			pod, err = api.Update(ctx, pod, metav1.UpdateOptions{FieldManager: by})
		}
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "version "+version, func() bool {
			return tap.State().Handled[schema.GroupResource{Resource: "pods"}] == snapshot.VersionNumber(version)
		})
	}
	step("2", "kubectl-create", func(*corev1.Pod) {})
	step("3", "flux", func(p *corev1.Pod) { p.Labels = map[string]string{"tier": "a"} })
	step("4", "kubectl-edit", func(p *corev1.Pod) { p.Labels = nil })
	if err := api.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion", func() bool { return len(details[*trace.Watch](sink)) == 5 })
	var got []string
	for _, w := range details[*trace.Watch](sink) {
		got = append(got, string(w.Event)+" "+w.Name+" "+w.Manager.Name())
	}
	want := []string{"ADDED old ", "ADDED web kubectl-create", "MODIFIED web flux", "MODIFIED web ", "DELETED web "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events with their managers (-want +got):\n%s", diff)
	}
	for _, obj := range pods.GetIndexer().List() {
		if obj.(*corev1.Pod).ManagedFields != nil {
			t.Error("an informer stores managedFields")
		}
	}
	line, err := json.Marshal(details[*trace.Watch](sink)[2])
	if err != nil || !strings.Contains(string(line), `"manager":"flux"`) {
		t.Errorf("JSON does not have the manager: %s (%v)", line, err)
	}
}

// TestOwnManagerIsNotNamed: a watch may show a write of the session's before its answer has arrived. That it came from
// outside must not be claimed then.
func TestOwnManagerIsNotNamed(t *testing.T) {
	tap := New(Options{FieldManager: "kube-controller-manager"})
	for _, test := range []struct{ manager, want string }{{"kube-controller-manager", ""}, {"flux", "flux"}, {"", ""}} {
		if got := tap.externalManager(managed(test.manager, "", 0, `{}`)).Manager; got != test.want {
			t.Errorf("%q is called %q, want %q", test.manager, got, test.want)
		}
	}
	if tap, _ := recording(); tap.externalManager(managed("kube-controller-manager", "", 0, `{}`)).Manager == "" {
		t.Error("in a dry run kube-controller-manager is not named")
	}
}

// TestManagersOfOwnWritesAreNotKept: a write of the session is known by its reconcile.
func TestManagersOfOwnWritesAreNotKept(t *testing.T) {
	tap, _ := recording()
	tap.writers.put(7, &reconcile{c: tap.Controller("x"), id: 1})
	for version, want := range map[string]int{"7": 0, "8": 1} {
		pod := testPod("web", "a")
		pod.ResourceVersion, pod.ManagedFields = version, []metav1.ManagedFieldsEntry{managed("x", "", 1, "{}")}
		if _, err := tap.trim(pod); err != nil || pod.ManagedFields != nil {
			t.Errorf("version %s is not trimmed (%v)", version, err)
		}
		if got := len(tap.managers.get(pod)); got != want {
			t.Errorf("of version %s %d entries are kept, want %d", version, got, want)
		}
	}
	for range 3 * managersKept {
		pod := testPod("web", "a")
		pod.ResourceVersion, pod.ManagedFields = time.Now().String(), []metav1.ManagedFieldsEntry{{}}
		_, _ = tap.trim(pod)
	}
	if n := tap.managers.byVersion.Len(); n > 2*managersKept {
		t.Errorf("%d versions are kept", n)
	}
}

func TestAnsweredDeletionTakesNoOtherWriterOver(t *testing.T) {
	tap, _ := recording()
	kubelet := &reconcile{id: 1, c: tap.Controller("kubelet")}
	collector := &reconcile{id: 2, c: tap.Controller("collector")}
	tap.writers.put(7, kubelet)
	tap.writers.putIfAbsent(7, collector)
	tap.writers.putIfAbsent(8, collector)
	if tap.writers.get(7).id != 1 || tap.writers.get(8).id != 2 {
		t.Errorf("the writers are %+v and %+v", tap.writers.get(7), tap.writers.get(8))
	}
}
