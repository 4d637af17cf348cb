package compare

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// TestDeleteCollection: each object of a collection is compared, and those that are not are deleted by the API.
func TestDeleteCollection(t *testing.T) {
	for _, test := range []struct {
		answers map[string]answer
		fails   map[string]int
		want    []string // paths of requests for deletions
		code    int
		reason  string
	}{
		{nil, nil, nil, 200, "both are as recorded"},
		{map[string]answer{"b": {pass: true}}, nil, []string{"DELETE /api/v1/namespaces/shop/configmaps/b"}, 200,
			"one is not compared"},
		{map[string]answer{"a": conflict("early")}, nil, nil, 409, "one is refused"},
		{map[string]answer{"a": {pass: true}}, map[string]int{"a": 404},
			[]string{"DELETE /api/v1/namespaces/shop/configmaps/a"}, 200, "another was faster"},
		{map[string]answer{"a": {pass: true}, "b": {pass: true}}, map[string]int{"a": 403},
			[]string{"DELETE /api/v1/namespaces/shop/configmaps/a"}, 403, "the API refuses it"},
	} {
		var deleted []string
		api := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodDelete {
				info, _ := genericapirequest.RequestInfoFrom(req.Context())
				deleted = append(deleted, "DELETE "+req.URL.Path)
				if code := test.fails[info.Name]; code != 0 {
					w.WriteHeader(code)
				}
				return
			}
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"namespace":"shop","name":"a"}},{"metadata":{"namespace":"shop","name":"b"}}]}`))
		})
		h := &handler{
			next: api, outside: true,
			who:   func(*http.Request) (caller, bool) { return caller{}, true },
			write: func(_ context.Context, w *write) answer { return test.answers[w.object.Name] },
		}
		req := httptest.NewRequest(http.MethodDelete, "/api/v1/namespaces/shop/configmaps?labelSelector=a%3Db", http.NoBody)
		info := &genericapirequest.RequestInfo{
			IsResourceRequest: true, Verb: "deletecollection", APIPrefix: "api", APIVersion: "v1", Namespace: "shop",
			Resource: "configmaps", Path: req.URL.Path,
		}
		got := httptest.NewRecorder()
		h.ServeHTTP(got, req.WithContext(genericapirequest.WithRequestInfo(req.Context(), info)))
		if diff := cmp.Diff(test.want, deleted); diff != "" || got.Code != test.code {
			t.Errorf("%s: answered with %d, want %d; deletions (-want +got):\n%s", test.reason, got.Code, test.code, diff)
		}
	}
}
