package guard

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// typedClient is one of typed objects, as controllers have them: it sends protobuf.
func (g *guarded) typedClient(t testing.TB) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(g.config)
	config.ContentType = asProtobuf
	return kubernetes.NewForConfigOrDie(config)
}

// TestAnswersOfNoServer: without a server's answer a controller gets what it needs to continue.
func TestAnswersOfNoServer(t *testing.T) {
	g := guardedOf(sharedServer(t), Client)
	g.fixtures(t)
	ctx, client := t.Context(), g.typedClient(t).CoreV1()

	nameless := pod("")
	nameless.GenerateName = "web-"
	nameless.Namespace = ""
	made, err := client.Pods("default").Create(ctx, nameless, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.UID == "" || len(made.Name) <= len("web-") || made.CreationTimestamp.IsZero() ||
		made.Namespace != "default" || made.ResourceVersion != "" {
		t.Errorf("a created pod lacks what a server gives it in a dry run: %+v", made.ObjectMeta)
	}
	if diff := cmp.Diff(nameless.Spec, made.Spec); diff != "" {
		t.Errorf("the spec of the created pod (-sent +answered):\n%s", diff)
	}

	there, err := g.admin.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patched, err := client.Pods("default").Patch(ctx, "web", types.StrategicMergePatchType,
		[]byte(`{"status":{"phase":"Running"},"metadata":{"labels":{"ignored":"true"}}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	want := there.DeepCopy()
	want.Status.Phase = "Running"
	if diff := cmp.Diff(want, patched); diff != "" {
		t.Errorf("a patch of the status (-want +got):\n%s", diff)
	}

	space, err := g.admin.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	updated, err := client.Namespaces().Update(ctx, space, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(space, updated); diff != "" {
		t.Errorf("a namespace, which is in none, is answered as it was sent (-sent +answered):\n%s", diff)
	}

	partial, err := metadata.NewForConfig(g.config)
	if err != nil {
		t.Fatal(err)
	}
	orphaned, err := partial.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("default").Patch(ctx,
		"web",
		types.StrategicMergePatchType, []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`), metav1.PatchOptions{})
	if err != nil || len(orphaned.OwnerReferences) != 1 || orphaned.UID != there.UID {
		t.Errorf("a patch of the metadata alone gives %+v (%v)", orphaned, err)
	}
}

func TestDeletionsOfNoServerHavePreconditions(t *testing.T) {
	g := guardedOf(sharedServer(t), Client)
	g.fixtures(t)
	pods := g.typedClient(t).CoreV1().Pods("default")
	there, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other, version, old := types.UID("other"), there.ResourceVersion, "1"
	for _, test := range []struct {
		reason string
		of     metav1.Preconditions
		want   metav1.StatusReason
	}{
		{"no precondition", metav1.Preconditions{}, ""},
		{"the object's own", metav1.Preconditions{UID: &there.UID, ResourceVersion: &version}, ""},
		{"of another object of the name", metav1.Preconditions{UID: &other}, metav1.StatusReasonConflict},
		{"of an older version", metav1.Preconditions{ResourceVersion: &old}, metav1.StatusReasonConflict},
	} {
		err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{Preconditions: &test.of})
		if got := reasonOf(err); got != test.want {
			t.Errorf("%s: %v, want reason %q", test.reason, err, test.want)
		}
	}
}

func reasonOf(err error) metav1.StatusReason {
	if err == nil {
		return ""
	}
	status, ok := err.(interface{ Status() metav1.Status })
	if !ok {
		return "not a status"
	}
	return status.Status().Reason
}

// TestUnsupported: what the server does not say that it can try is answered here, and told once.
func TestUnsupported(t *testing.T) {
	g := guardedOf(sharedServer(t), Server)
	const uri = "/apis/example.com/v1/namespaces/default/gadgets"
	for range 3 {
		code, answer := g.do(t, http.MethodPost, uri, asJSON,
			[]byte(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"x":{"y":1}}`))
		var got struct {
			Metadata metav1.ObjectMeta
			X        map[string]int
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || code != http.StatusCreated ||
			got.Metadata.UID == "" || got.X["y"] != 1 {
			t.Errorf("answered %d %s", code, answer)
		}
	}
	want := []Notice{{Verb: "create", Resource: "gadgets.example.com", Reason: "the server does not say that it can try this without keeping it"}}
	if diff := cmp.Diff(want, g.notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if sent := g.writes(); len(sent) > 0 {
		t.Errorf("sent: %v", sent)
	}
}
