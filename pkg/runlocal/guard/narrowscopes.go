package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// scopes knows which resources are in namespaces. It asks the server once for each version of a group, and again for a
// resource that it does not know: of a definition that has come since.
type scopes struct {
	mu    sync.Mutex
	known map[schema.GroupVersionResource]bool
}

func newScopes() *scopes { return &scopes{known: map[schema.GroupVersionResource]bool{}} }

// namespaced reports whether the resource is in namespaces; what the server does not know is not.
func (s *scopes) namespaced(ask func(path string) (*http.Response, error), info *request.RequestInfo) (bool, error) {
	gv := groupVersion(info)
	gvr := gv.WithResource(info.Resource)
	s.mu.Lock()
	is, ok := s.known[gvr]
	s.mu.Unlock()
	if ok {
		return is, nil
	}
	resp, err := ask("/" + info.APIPrefix + "/" + gv.String())
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	list := metav1.APIResourceList{}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("asking which resources of %s are in namespaces: %s", gv, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return false, fmt.Errorf("asking which resources of %s are in namespaces: %w", gv, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list.APIResources {
		s.known[gv.WithResource(list.APIResources[i].Name)] = list.APIResources[i].Namespaced
	}
	return s.known[gvr], nil
}
