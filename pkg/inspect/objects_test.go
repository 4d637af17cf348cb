package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func fromJSON(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

// fromYAML reads an object as it would come from an API server: whole numbers are int64.
func fromYAML(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return fromJSON(t, string(json))
}

// verdict is a row of the tables of status: an object, and what is said of it, without Message, Kstatus and JudgedBy.
type verdict struct {
	reason, object      string
	status, why, counts string
}

func judgeAll(t *testing.T, rows []verdict) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.reason, func(t *testing.T) {
			obj := fromYAML(t, tt.object)
			before := obj.DeepCopy()
			got := StatusOf(obj)
			want := Status{Status: tt.status, Reason: tt.why, Ready: tt.counts, Kstatus: got.Kstatus, Message: got.Message, JudgedBy: got.JudgedBy}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}
