package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Unserved returns which of the resources that the controller reads are not served in a version that it can read, so that it
// cannot run: an API server that is older has not all. served is asked for each; nil is returned if nothing is missing.
func (c Controller) Unserved(served func(schema.GroupVersionResource) bool) []schema.GroupResource {
	var out []schema.GroupResource
	for _, r := range c.Reads {
		readable := func(version string) bool { return served(r.WithVersion(version)) }
		if r.Resource != "*" && !slices.ContainsFunc(readVersions(r), readable) {
			out = append(out, r)
		}
	}
	return out
}

// readVersions are those of a resource that its controllers can read, any of which does. Upstream's controllers have an
// informer of one version each; the publisher of trust bundles takes the newest that there is.
func readVersions(r schema.GroupResource) []string {
	switch r {
	case schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:
		return []string{"v2"}
	case schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}:
		return []string{"v1beta1"}
	case schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:
		return []string{"v1", "v1beta1", "v1alpha1"}
	}
	return []string{"v1"}
}
