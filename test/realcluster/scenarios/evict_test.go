package scenarios

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestEvict(t *testing.T) {
	full := errors.NewTooManyRequests("the budget is used up", 0)
	for _, test := range []struct {
		reason  string
		answer  error // of the API
		refused string
		want    string // in the error; empty for none
	}{
		{"what is granted and should be", nil, "", ""},
		{"what is refused and should be", full, "TooManyRequests", ""},
		{"what is refused and should not be", full, "", `evicting pod "web": the budget is used up`},
		{"what is refused for another reason", errors.NewBadRequest("no"), "TooManyRequests", `evicting pod "web": no`},
		{"what is granted and should not be", nil, "TooManyRequests", "it was granted, not refused as TooManyRequests"},
	} {
		var evicted []string
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			object := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
			evicted = append(evicted, action.GetSubresource()+" "+object.GetKind()+" "+object.GetName())
			return true, object, test.answer
		})
		err := playWithPod(client).evict(t.Context(), &Evict{Selection: Selection{Object: "pods"}, Refused: test.refused})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", test.reason, err, test.want)
		}
		if got := strings.Join(evicted, ","); got != "eviction Eviction web" {
			t.Errorf("%s: the API was asked for %q", test.reason, got)
		}
	}
}

// playWithPod is a play in whose namespace there is the pod web.
func playWithPod(client *dynamicfake.FakeDynamicClient) *play {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(pods, meta.RESTScopeNamespace)
	web := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web", "namespace": "one", "uid": "u"}}}
	o := &observer{spaces: map[string]*space{}}
	o.saw(schema.GroupResource{Resource: "pods"}, web)
	return &play{Side: &Side{client: client, mapper: mapper, observer: o}, scenario: &Scenario{Name: "one"}}
}
