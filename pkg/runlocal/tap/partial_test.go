package tap

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// partialAnswer is the metadata of an object as the API sends it.
func partialAnswer(t *testing.T, m metav1.ObjectMeta, protobuf bool) *answer {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: partial}, ObjectMeta: m}
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
		if after.kind != partial || after.version() != 2 {
			t.Fatalf("the answer is a %s of version %d", after.kind, after.version())
		}
		var got []string
		for _, c := range compareKnown(stored{whole}, after) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff([]string{`metadata.finalizers: ["orphan"] -> <none>`}, got); diff != "" {
			t.Errorf("protobuf %t (-want +got):\n%s", protobuf, diff)
		}
	}
	broken := &answer{body: []byte("{"), kind: partial}
	if _, err := broken.object(); err == nil {
		t.Error("a body that was cut off is no metadata")
	}
}
