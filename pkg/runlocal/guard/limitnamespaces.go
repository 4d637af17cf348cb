package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

// LimitNamespaces returns a copy of config whose clients see only the given namespaces, of which there must be at least
// one. A list or watch of a namespaced resource across all namespaces returns the objects of these namespaces;
// cluster-scoped resources are seen as before. So a user who may read only some namespaces can run code that was
// written to read all of them, with typed or metadata-only clients.
//
// A list of several namespaces is as consistent as one of all namespaces: every item is of the same resourceVersion. A
// watch of several delivers the events of each namespace in order, those of different namespaces in any order; its
// bookmarks are the least of all. It refuses sendInitialEvents, so that clients list first.
//
// Writes to other namespaces are refused.
func LimitNamespaces(config *rest.Config, namespaces []string) *rest.Config {
	sorted := slices.Compact(slices.Sorted(slices.Values(namespaces)))
	limited := rest.CopyConfig(config)
	shared := &namespaceLimit{
		namespaces: sorted, prefix: apirequest.Prefix(config),
		scopes: newResourceScopes(), histories: newWatchHistories(),
	}
	limited.Wrap(func(next http.RoundTripper) http.RoundTripper { return &namespaceLimiter{shared, next} })
	return limited
}

// namespaceLimit is the state that all transports of one LimitNamespaces share. A client may have several transports: a
// watch must know what lists by another one returned.
type namespaceLimit struct {
	namespaces []string // sorted, without duplicates
	prefix     string   // of every path, see apirequest.Prefix
	scopes     *resourceScopes
	histories  *watchHistories
}

// namespaceLimiter is the RoundTripper of LimitNamespaces.
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
			"namespace "+info.Namespace+" is not one of those that this program is limited to"), nil
	case !ofAllNamespaces(req, info):
		return n.next.RoundTrip(req)
	}
	namespaced, err := n.scopes.namespaced(n.getter(req), info)
	switch {
	case err != nil:
		return nil, err
	case !namespaced:
		return n.next.RoundTrip(req)
	case len(n.namespaces) == 1:
		return n.next.RoundTrip(n.inNamespace(req, n.namespaces[0], req.URL.Query()))
	case info.Verb == "watch":
		return n.watch(req)
	}
	return n.list(req)
}

// requestInfo returns what req requests, nil if that cannot be read: such a request is sent as it is, for the server to
// say what is wrong with it.
func (n *namespaceLimiter) requestInfo(req *http.Request) *request.RequestInfo {
	info, err := apirequest.Read(req, n.prefix)
	if err != nil {
		return nil
	}
	return info
}

// writesOutside reports whether req changes something in a namespace that is not one of n's.
func (n *namespaceLimiter) writesOutside(req *http.Request, info *request.RequestInfo) bool {
	if req.Method == http.MethodGet || req.Method == http.MethodHead || info.Namespace == "" {
		return false
	}
	return info.Resource != "namespaces" && !slices.Contains(n.namespaces, info.Namespace)
}

// ofAllNamespaces reports whether req lists or watches a resource without naming a namespace. The resource may be
// cluster-scoped.
func ofAllNamespaces(req *http.Request, info *request.RequestInfo) bool {
	whole := len(info.Parts) == 1 && info.Namespace == "" // a field selector for one name gives info a Name
	return req.Method == http.MethodGet && whole && (info.Verb == "list" || info.Verb == "watch" || info.Verb == "get")
}

// inNamespace returns req, a request for all namespaces, for one of them and with another query.
func (n *namespaceLimiter) inNamespace(req *http.Request, namespace string, query url.Values) *http.Request {
	one := req.Clone(req.Context())
	dir, resource := path.Split(req.URL.Path)
	one.URL.Path = dir + "namespaces/" + namespace + "/" + resource
	one.URL.RawPath = ""
	one.URL.RawQuery = query.Encode()
	return one
}

// getter returns a function that reads another path of the server with the headers, and so the credentials, of req.
func (n *namespaceLimiter) getter(req *http.Request) func(path string) (*http.Response, error) {
	return func(path string) (*http.Response, error) {
		other := req.Clone(req.Context())
		other.URL.Path, other.URL.RawPath, other.URL.RawQuery = n.prefix+path, "", ""
		other.Header.Set("Accept", "application/json")
		return n.next.RoundTrip(other)
	}
}

// failureResponse returns a Status of failure as the response to req.
func failureResponse(req *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	return statusResponse(req, metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), //nolint:gosec // an HTTP status
		Reason: reason, Message: message,
	})
}

// expiredResponse returns "410 Gone" as the response to req, which makes a client list again.
func expiredResponse(req *http.Request, why string) *http.Response {
	return failureResponse(req, http.StatusGone, metav1.StatusReasonExpired, why)
}

// groupVersion returns the group and version that a request for a resource is about.
func groupVersion(info *request.RequestInfo) schema.GroupVersion {
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
}

// resourceScopes caches which resources are namespaced. It reads the discovery document of a group and version when it
// is first needed, and again for a resource that is not in it, whose CustomResourceDefinition may have been created
// since.
type resourceScopes struct {
	mu                  sync.Mutex
	namespacedResources map[schema.GroupVersionResource]bool
}

func newResourceScopes() *resourceScopes {
	return &resourceScopes{namespacedResources: map[schema.GroupVersionResource]bool{}}
}

// namespaced reports whether the resource of a request is namespaced; one that the server does not serve is not. get
// reads a path of the server.
func (s *resourceScopes) namespaced(
	get func(path string) (*http.Response, error), info *request.RequestInfo,
) (bool, error) {
	gv := groupVersion(info)
	gvr := gv.WithResource(info.Resource)
	s.mu.Lock()
	namespaced, ok := s.namespacedResources[gvr]
	s.mu.Unlock()
	if ok {
		return namespaced, nil
	}
	resp, err := get("/" + info.APIPrefix + "/" + gv.String())
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	list := metav1.APIResourceList{}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("reading which resources of %q are namespaced: the server answers %s", gv, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return false, fmt.Errorf("reading which resources of %q are namespaced: %w", gv, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list.APIResources {
		s.namespacedResources[gv.WithResource(list.APIResources[i].Name)] = list.APIResources[i].Namespaced
	}
	return s.namespacedResources[gvr], nil
}
