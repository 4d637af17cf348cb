package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// acceptAggregated is the media type of aggregated discovery.
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// rootDiscovery serves /apis for clients that do not accept the aggregated form. On a cluster the aggregation layer
// does; a generic server alone omits the groups of custom resources. Here the list is made from the aggregated
// document, which has them.
type rootDiscovery struct {
	aggregated http.Handler
	serializer runtime.NegotiatedSerializer
}

var _ http.Handler = (*rootDiscovery)(nil)

// newRootDiscovery returns the handler of /apis in both forms.
func newRootDiscovery(manager aggregated.ResourceManager, serializer runtime.NegotiatedSerializer) http.Handler {
	legacy := &rootDiscovery{aggregated: manager, serializer: serializer}
	return aggregated.WrapAggregatedDiscoveryToHandler(legacy, manager, nil)
}

// ServeHTTP serves the groups and versions, without addresses. It mirrors apisHandler.ServeHTTP of
// k8s.io/kube-aggregator/pkg/apiserver/handler_apis.go.
func (d *rootDiscovery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	groups, err := d.groups(r)
	if err != nil {
		responsewriters.ErrorNegotiated(err, d.serializer, schema.GroupVersion{}, w, r)
		return
	}
	list := &metav1.APIGroupList{Groups: groups}
	responsewriters.WriteObjectNegotiated(d.serializer, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{},
		w, r, http.StatusOK, list, false)
}

// groups reads the aggregated document, with the context and identity of r.
func (d *rootDiscovery) groups(r *http.Request) ([]metav1.APIGroup, error) {
	answer := newResponse()
	inner := r.Clone(r.Context())
	inner.Header = http.Header{"Accept": {acceptAggregated}}
	answer.run(d.aggregated, inner)
	if answer.failure != nil {
		return nil, fmt.Errorf("reading the aggregated discovery document: %w", answer.failure)
	}
	var document apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(answer.buf.Bytes(), &document); err != nil {
		return nil, fmt.Errorf("decoding the aggregated discovery document: %w", err)
	}
	groups := make([]metav1.APIGroup, 0, len(document.Items))
	for _, item := range document.Items {
		groups = append(groups, apiGroup(item))
	}
	return groups, nil
}

// apiGroup returns g without its resources. The first version is the preferred one, in both forms.
func apiGroup(g apidiscoveryv2.APIGroupDiscovery) metav1.APIGroup {
	out := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: g.Name, Version: v.Version}.String(),
			Version:      v.Version,
		})
	}
	if len(out.Versions) > 0 {
		out.PreferredVersion = out.Versions[0]
	}
	return out
}
