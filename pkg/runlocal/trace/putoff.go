package trace

import "strings"

// StaleCache reads the error by which a controller waits until its cache shows its own last write, and returns the
// resource of that write: "pods", "deployments.apps". It is false for every other error (ConsistencyError of
// kubernetes' pkg/controller/util/consistency, StaleInformerCache of pkg/controller/util/endpointslice).
func StaleCache(text string) (resource string, is bool) {
	if strings.Contains(text, "EndpointSlice informer cache is out of date") {
		return "endpointslices", true
	}
	_, versions, is := strings.Cut(text, "read version: ")
	if !is || !strings.Contains(versions, " is not as new as written version: ") {
		return "", false
	}
	_, resource, is = strings.Cut(versions, " for group resource ")
	return resource, is
}
