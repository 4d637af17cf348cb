package trace

import (
	"testing"
)

func TestStaleCache(t *testing.T) {
	const stale = "read version: 275 is not as new as written version: 279 for group resource "
	for _, test := range []struct{ reason, text, resource string }{
		{"upstream's words", stale + "pods", "pods"},
		{"a resource with a group", stale + "deployments.apps", "deployments.apps"},
		{"some controllers put their own in front", "default/web failed with : " + stale + "pods", "pods"},
		{"an older way to say it", "EndpointSlice informer cache is out of date", "endpointslices"},
		{"most reconciles do not fail", "", ""},
		{"another error of versions", "read version: 1 is unknown", ""},
		{"it must name the resource", "read version: 1 is not as new as written version: 2", ""},
	} {
		resource, is := StaleCache(test.text)
		if resource != test.resource || is != (test.resource != "") {
			t.Errorf("%s: %q, %t, want %q", test.reason, resource, is, test.resource)
		}
	}
}
