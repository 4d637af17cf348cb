package tap

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestSecretsAreNotTold(t *testing.T) {
	secret := func(value string, annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s",
				Annotations: annotations}, Type: "Opaque", Data: map[string][]byte{"token": []byte(value), "a.b": []byte("x")},
		}
	}
	applied := map[string]string{"note": "n", corev1.LastAppliedConfigAnnotation: `{"data":{"token":"c2VjcmV0"}}`}
	raw := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"token": value},
		}}
	}
	about := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: annotations}}
	}
	for _, test := range []struct {
		reason       string
		old, updated runtime.Object
		want         []string
	}{
		{"a value that has changed", secret("one", nil), secret("two", nil),
			[]string{"data.token: *** -> ***"}},
		{"a copy of the values", secret("one", map[string]string{"note": "n"}), secret("one", applied), []string{
			"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: <none> -> ***",
		}},
		{"without its kind's type", raw("b25l"), raw("dHdv"), []string{"data.token: *** -> ***"}},
		{"what is not secret in a Secret", secret("one", map[string]string{"note": "a"}),
			secret("one", map[string]string{"note": "b"}), []string{
				"metadata.annotations.note: a -> b",
			}},
		{
			"a token that was requested", &authenticationv1.TokenRequest{},
			&authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "t"}}, []string{"status.token: *** -> ***"},
		},
		{"the metadata alone, which does not have the kind", about(map[string]string{"note": "a"}),
			about(map[string]string{"note": "b", corev1.LastAppliedConfigAnnotation: "c2VjcmV0"}), []string{
				"metadata.annotations.note: a -> b", "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: <none> -> ***",
			}},
		{"a ConfigMap is none", &corev1.ConfigMap{}, &corev1.ConfigMap{Data: map[string]string{"token": "t"}},
			[]string{"data.token: <none> -> t"}},
	} {
		var got []string
		for _, c := range compare(test.old, test.updated) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
	var none *corev1.Secret
	for _, c := range compare(none, secret("one", applied)) {
		if containsSecret(c.String()) {
			t.Errorf("a Secret that is new: %s", c)
		}
	}
	for _, c := range compare(secret("one", applied), none) {
		if containsSecret(c.String()) {
			t.Errorf("a Secret that is gone: %s", c)
		}
	}
}

// containsSecret reports whether a text has the value one or secret of the test's Secrets in it, in base64.
func containsSecret(text string) bool {
	return strings.Contains(text, "b25l") || strings.Contains(text, "c2VjcmV0")
}

// partialAnswer is the metadata of an object as the API sends it.
func partialAnswer(t *testing.T, m metav1.ObjectMeta, protobuf bool) *answer {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1",
		Kind: partialMetadataKind}, ObjectMeta: m}
	if !protobuf {
		body, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return newAnswer(body)
	}
	raw, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: obj.APIVersion, Kind: obj.Kind}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return newAnswer(bytes.Join([][]byte{protobufMagic, body}, nil))
}

func TestMetadataIsComparedWithMetadata(t *testing.T) {
	replicas := int32(3)
	whole := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{"orphan"}, ResourceVersion: "1"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
	for _, protobuf := range []bool{true, false} {
		after := partialAnswer(t, metav1.ObjectMeta{Name: "web", ResourceVersion: "2"}, protobuf)
		if after.kind != partialMetadataKind || after.version() != 2 {
			t.Fatalf("the answer is a %s of version %d", after.kind, after.version())
		}
		var got []string
		for _, c := range compareSeen(cachedObject{whole}, after) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff([]string{`metadata.finalizers: ["orphan"] -> <none>`}, got); diff != "" {
			t.Errorf("protobuf %t (-want +got):\n%s", protobuf, diff)
		}
	}
	broken := &answer{body: []byte("{"), kind: partialMetadataKind}
	if _, err := broken.object(); err == nil {
		t.Error("a body that was cut off is no metadata")
	}
}

// TestOrderOfLists: that entries come in another order is a change only if there is no other.
func TestOrderOfLists(t *testing.T) {
	pod := func(image string, names ...string) *corev1.Pod {
		out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: int64(len(image))}}
		for _, name := range names {
			out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: name, Image: image})
		}
		return out
	}
	for _, tt := range []struct {
		reason       string
		old, updated *corev1.Pod
		want         []string
	}{
		{"the order alone", pod("a:1", "web", "proxy"), pod("a:1", "proxy", "web"), []string{`spec.containers: ["web","proxy"] -> ["proxy","web"]`}},
		{"an image too", pod("a:1", "web"), pod("a:2", "web"), []string{"spec.containers[name=web].image: a:1 -> a:2"}},
		{"nothing", pod("a:1", "web"), pod("a:1", "web"), nil},
	} {
		var got []string
		for _, c := range compare(tt.old, tt.updated) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestChangesAreShared: what two show of the same versions is compared once; of a dry run, which has no version, each
// time.
func TestChangesAreShared(t *testing.T) {
	var c changes
	compared := 0
	get := func(id changeID) *trace.Change {
		return c.get(id, func() []fields.Change {
			compared++
			return []fields.Change{fields.Mask{}.Change("spec.x", 1, compared)}
		})
	}
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, tt := range []struct {
		reason string
		a, b   changeID
		shared bool
	}{
		{"the same versions", changeID{pods, 5, 6}, changeID{pods, 5, 6}, true},
		{"from another version", changeID{pods, 5, 7}, changeID{pods, 6, 7}, false},
		{"of another resource", changeID{pods, 8, 9}, changeID{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, 8, 9}, false},
		{"dry runs", changeID{pods, 9, 9}, changeID{pods, 9, 9}, false},
		{"what has no versions", changeID{pods, 0, 0}, changeID{pods, 0, 0}, false},
	} {
		compared = 0
		a, b := get(tt.a), get(tt.b)
		if a.Fields(); (a == b) != tt.shared {
			t.Errorf("%s: they are one: %t", tt.reason, a == b)
		}
		if b.Fields(); compared == 1 != tt.shared {
			t.Errorf("%s: compared %d times", tt.reason, compared)
		}
	}
}
