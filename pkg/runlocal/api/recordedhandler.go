package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
)

// readOnly is the default of Recorded.ReadOnly.
const readOnly = "this is a recording, which is served read-only"

// recordedHandler returns next behind what limits requests to what was recorded; next itself without Options.Recorded.
// It belongs behind authentication, where users are known and warnings can be sent.
func (a *assembly) recordedHandler(next http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	o := a.options.Recorded
	if o == nil {
		return next
	}
	h := &recordedHandler{kinds: a.recorded, next: next, inner: next, options: o, serializer: serializer}
	if o.Handler != nil {
		h.next = o.Handler(next)
	}
	return h
}

type recordedHandler struct {
	kinds      recordedKinds
	options    *Recorded
	serializer runtime.NegotiatedSerializer
	next       http.Handler // for clients
	inner      http.Handler // for the server's own requests
}

var _ http.Handler = (*recordedHandler)(nil)

// ServeHTTP implements http.Handler.
func (h *recordedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, ok := genericapirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || isAnswered(info.APIGroup) {
		h.next.ServeHTTP(w, r)
		return
	}
	next := h.next
	err := h.refuse(r.Context(), info)
	if who, ok := genericapirequest.UserFrom(r.Context()); ok && who.GetName() == user.APIServerUser {
		next, err = h.inner, h.refuseWrite(info) // it reads definitions of custom resources in any case
	}
	if err != nil {
		gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(err, h.serializer, gv, w, r)
		return
	}
	next.ServeHTTP(w, r)
}

// refuse returns the error of a request that cannot be answered from the recording. It adds warnings to requests whose
// answer may be incomplete.
func (h *recordedHandler) refuse(ctx context.Context, info *genericapirequest.RequestInfo) error {
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	kind := h.kinds.find(gr)
	if kind == nil {
		return notRecorded(gr, info.Name, fmt.Sprintf("%s were not recorded", gr))
	}
	if err := h.refuseWrite(info); err != nil {
		return err
	}
	return kind.outside(ctx, info)
}

// outside returns an error for the request of a single object that is in no scope of the recording. It adds a warning
// to a request for several objects that may have been more.
func (r *RecordedResource) outside(ctx context.Context, info *genericapirequest.RequestInfo) error {
	if len(r.Scopes) == 0 || !slices.Contains(reads, info.Verb) {
		return nil
	}
	var namespaces, selected []string
	for _, s := range r.Scopes {
		switch {
		case s.Namespace != "" && s.Namespace != info.Namespace:
			namespaces = append(namespaces, s.Namespace)
		case s.Labels == "" && s.Fields == "":
			return nil // all that the request can be about
		default:
			selected = append(selected, strings.Trim(s.Labels+" "+s.Fields, " "))
		}
	}
	gr := r.GroupResource()
	switch {
	case len(selected) > 0:
		warning.AddWarning(ctx, "", fmt.Sprintf("only %s with %s were recorded", gr, strings.Join(selected, " or ")))
	case info.Verb == "get":
		return notRecorded(gr, info.Name, fmt.Sprintf("%s were not recorded in namespace %q, only in %s", gr,
			info.Namespace, strings.Join(namespaces, ", ")))
	default:
		warning.AddWarning(ctx, "", fmt.Sprintf("%s were recorded only in namespace %s", gr,
			strings.Join(namespaces, ", ")))
	}
	return nil
}

// reads are the verbs of requests that change nothing.
var reads = []string{"get", "list", "watch"}

func (h *recordedHandler) refuseWrite(info *genericapirequest.RequestInfo) error {
	if h.options.Writable || slices.Contains(reads, info.Verb) {
		return nil
	}
	message := h.options.ReadOnly
	if message == "" {
		message = readOnly
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: message,
		Details: &metav1.StatusDetails{Group: info.APIGroup, Kind: info.Resource, Name: info.Name},
	}}
}

func notRecorded(gr schema.GroupResource, name, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: message,
		Details: &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: name},
	}}
}

// recordedDiscovery leaves out of the discovery document what was not recorded: custom resources, whose definitions may
// have been recorded without them, and the kind of the definitions themselves.
type recordedDiscovery struct {
	aggregated.ResourceManager
	kinds recordedKinds
}

// discovery returns the manager of a discovery document that has the recorded kinds only.
func (k recordedKinds) discovery(manager aggregated.ResourceManager) aggregated.ResourceManager {
	if k == nil {
		return manager
	}
	return recordedDiscovery{manager, k}
}

// AddGroupVersion implements aggregated.ResourceManager.
func (d recordedDiscovery) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	if isAnswered(group) {
		d.ResourceManager.AddGroupVersion(group, version)
		return
	}
	all := version.Resources
	version.Resources = nil
	for _, one := range all {
		if d.kinds.find(schema.GroupResource{Group: group, Resource: one.Resource}) != nil {
			version.Resources = append(version.Resources, one)
		}
	}
	if len(version.Resources) > 0 {
		d.ResourceManager.AddGroupVersion(group, version)
	}
}

// WithSource implements aggregated.ResourceManager.
func (d recordedDiscovery) WithSource(source aggregated.Source) aggregated.ResourceManager {
	return recordedDiscovery{d.ResourceManager.WithSource(source), d.kinds}
}

const (
	// kindsPollInterval is how often awaitRecordedKinds looks, and kindsTimeout how long.
	kindsPollInterval = 2 * time.Millisecond
	kindsTimeout      = 5 * time.Second
)

// awaitRecordedKinds returns when discovery has the recorded custom resources that are defined, which upstream's
// controller adds in the background. What is not served by then is not served at all, such as a kind whose name another
// one has.
func (s *Server) awaitRecordedKinds(ctx context.Context) error {
	wanted := slices.DeleteFunc(s.kinds.Custom(), func(gr schema.GroupResource) bool {
		return s.recorded.find(gr) == nil
	})
	if len(wanted) == 0 {
		return nil
	}
	// The error is that of ctx, or of the time that is over.
	_ = wait.PollUntilContextTimeout(ctx, kindsPollInterval, kindsTimeout, true,
		func(ctx context.Context) (bool, error) {
			served, err := s.discovered(ctx)
			missing := func(gr schema.GroupResource) bool { return !served[gr] }
			return err == nil && !slices.ContainsFunc(wanted, missing), nil
		})
	return ctx.Err()
}

// discovered returns the resources of all groups in the discovery document.
func (s *Server) discovered(ctx context.Context) (map[schema.GroupResource]bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin.Host+"/apis", nil)
	if err != nil {
		return nil, fmt.Errorf("requesting the discovery document: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+s.admin.BearerToken)
	request.Header.Set("Accept", acceptAggregated)
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("reading the discovery document: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // There is nothing to lose in a body that was read.
	var document apidiscoveryv2.APIGroupDiscoveryList
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return nil, fmt.Errorf("decoding the discovery document: %w", err)
	}
	out := map[schema.GroupResource]bool{}
	for _, group := range document.Items {
		for _, version := range group.Versions {
			for _, one := range version.Resources {
				out[schema.GroupResource{Group: group.Name, Resource: one.Resource}] = true
			}
		}
	}
	return out, nil
}
