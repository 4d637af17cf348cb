package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apirequest"
)

// LimitNamespaces returns a copy of config whose clients see these namespaces only, of which there must be one at least: where they
// list or watch a namespaced resource of all namespaces, they get what is in these. What is in no namespace they see as
// before. Whoever may read only these can so run what was made to read everything, typed or by metadata alone.
//
// A list of several namespaces is as consistent as one of all: all of it is of one resourceVersion. A watch of several
// tells of each namespace in order; of two namespaces it may tell in any order, and its bookmarks are the least of all. It
// refuses to begin with what there is already (sendInitialEvents), so that clients list.
//
// Writes into other namespaces are refused.
func LimitNamespaces(config *rest.Config, namespaces []string) *rest.Config {
	sorted := slices.Compact(slices.Sorted(slices.Values(namespaces)))
	narrowed := rest.CopyConfig(config)
	shared := &namespaceLimit{namespaces: sorted, prefix: apirequest.Prefix(config), scopes: newResourceScopes(), histories: newWatchHistories()}
	narrowed.Wrap(func(next http.RoundTripper) http.RoundTripper { return &namespaceLimiter{shared, next} })
	return narrowed
}

// namespaceLimit is what all transports of one Narrow have in common.
type namespaceLimit struct {
	namespaces []string // sorted
	prefix     string   // of every path
	scopes     *resourceScopes
	histories  *watchHistories
}

// namespaceLimiter is a transport.
type namespaceLimiter struct {
	*namespaceLimit
	next http.RoundTripper
}

var _ http.RoundTripper = (*namespaceLimiter)(nil)

// WrappedRoundTripper lets apimachinery find the transport below.
func (n *namespaceLimiter) WrappedRoundTripper() http.RoundTripper { return n.next }

// RoundTrip implements http.RoundTripper.
func (n *namespaceLimiter) RoundTrip(req *http.Request) (*http.Response, error) {
	info := n.requestInfo(req)
	switch {
	case info == nil || !info.IsResourceRequest:
		return n.next.RoundTrip(req)
	case n.writesOutside(req, info):
		closeBody(req)
		return failureResponse(req, http.StatusForbidden, metav1.StatusReasonForbidden,
			"namespace "+info.Namespace+" is not one of those that this program was narrowed to"), nil
	case !ofAllNamespaces(req, info):
		return n.next.RoundTrip(req)
	}
	is, err := n.scopes.namespaced(n.getter(req), info)
	switch {
	case err != nil:
		return nil, err
	case !is:
		return n.next.RoundTrip(req)
	case len(n.namespaces) == 1:
		return n.next.RoundTrip(n.inNamespace(req, n.namespaces[0], req.URL.Query()))
	case info.Verb == "watch":
		return n.watch(req)
	}
	return n.list(req)
}

// requestInfo is nil for a request that cannot be read; the server says what is wrong with it.
func (n *namespaceLimiter) requestInfo(req *http.Request) *request.RequestInfo {
	info, err := apirequest.Read(req, n.prefix)
	if err != nil {
		return nil
	}
	return info
}

// writesOutside reports whether a request changes something in another namespace.
func (n *namespaceLimiter) writesOutside(req *http.Request, info *request.RequestInfo) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead || info.Namespace == "" {
		return false
	}
	return info.Resource != "namespaces" && !slices.Contains(n.namespaces, info.Namespace)
}

// ofAllNamespaces reports whether a request lists or watches a whole resource, unless in one namespace.
func ofAllNamespaces(req *http.Request, info *request.RequestInfo) bool {
	whole := len(info.Parts) == 1 && info.Namespace == "" // a field selector for one name gives info a Name
	return req.Method == http.MethodGet && whole && (info.Verb == "list" || info.Verb == "watch" || info.Verb == "get")
}

// inNamespace is the request for one namespace, with other parameters.
func (n *namespaceLimiter) inNamespace(req *http.Request, namespace string, query url.Values) *http.Request {
	one := req.Clone(req.Context())
	dir, resource := path.Split(req.URL.Path)
	one.URL.Path = dir + "namespaces/" + namespace + "/" + resource
	one.URL.RawPath = ""
	one.URL.RawQuery = query.Encode()
	return one
}

// getter asks the server something else in the name of whoever asks.
func (n *namespaceLimiter) getter(req *http.Request) func(path string) (*http.Response, error) {
	return func(path string) (*http.Response, error) {
		other := req.Clone(req.Context())
		other.URL.Path, other.URL.RawPath, other.URL.RawQuery = n.prefix+path, "", ""
		other.Header.Set("Accept", "application/json")
		return n.next.RoundTrip(other)
	}
}

// failureResponse answers with an error.
func failureResponse(req *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	return statusResponse(req, metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, //nolint:gosec // an HTTP status
	})
}

// expiredResponse makes a client list again.
func expiredResponse(req *http.Request, why string) *http.Response {
	return failureResponse(req, http.StatusGone, metav1.StatusReasonExpired, why)
}

// groupVersion is that of a request for a resource.
func groupVersion(info *request.RequestInfo) schema.GroupVersion {
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
}

// compareVersions orders numbers as they are written, so without a bound. What is no version comes before all that are.
func compareVersions(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// resourceScopes knows which resources are in namespaces. It asks the server once for each version of a group, and again for a
// resource that it does not know: of a definition that has come since.
type resourceScopes struct {
	mu                  sync.Mutex
	namespacedResources map[schema.GroupVersionResource]bool
}

func newResourceScopes() *resourceScopes {
	return &resourceScopes{namespacedResources: map[schema.GroupVersionResource]bool{}}
}

// namespaced reports whether the resource is in namespaces; what the server does not know is not.
func (s *resourceScopes) namespaced(ask func(path string) (*http.Response, error), info *request.RequestInfo) (bool, error) {
	gv := groupVersion(info)
	gvr := gv.WithResource(info.Resource)
	s.mu.Lock()
	is, ok := s.namespacedResources[gvr]
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
		s.namespacedResources[gv.WithResource(list.APIResources[i].Name)] = list.APIResources[i].Namespaced
	}
	return s.namespacedResources[gvr], nil
}
