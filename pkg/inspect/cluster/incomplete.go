package cluster

import (
	"cmp"
	"slices"
)

// The words of Incomplete.Reason. The server's own reasons (Forbidden, NotFound, MethodNotAllowed and so on, metav1.StatusReason)
// stand beside these.
const (
	// ReasonDiscovery means that the kinds of the group are unknown, mostly because an aggregated API does not answer.
	ReasonDiscovery = "Discovery"
	// ReasonUnavailable means that no server answers for the kind: 502 or 503, or a connection that broke.
	ReasonUnavailable = "Unavailable"
	// ReasonTimeout means that no answer came in time.
	ReasonTimeout = "Timeout"
	// ReasonForbidden and ReasonUnauthorized mean that the user may not, and that the server does not know the user.
	ReasonForbidden    = "Forbidden"
	ReasonUnauthorized = "Unauthorized"
	// ReasonNotServed means that the kind is served no longer.
	ReasonNotServed = "NotServed"
	// ReasonConversion means that a webhook that converts the objects of the kind failed.
	ReasonConversion = "Conversion"
	// ReasonInternal is any other error that the server names as its own.
	ReasonInternal = "Internal"
	// ReasonUnreadable means that the answer could not be decoded.
	ReasonUnreadable = "Unreadable"
	// ReasonTooMany means that not all was read, because there is more than is worth reading.
	ReasonTooMany = "TooMany"
)

// Incomplete is something that could not be read, and why.
type Incomplete struct {
	// Group and Version say where; Resource is empty if it is all of the version.
	Group    string `json:"group,omitempty"`
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Namespace is empty if the whole cluster was asked for.
	Namespace string `json:"namespace,omitempty"`
	// Reason is one word, for programs; Message is what the server, or the connection, said.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Compare orders by group, resource, version, namespace and reason.
func (i Incomplete) Compare(other Incomplete) int {
	return cmp.Or(
		cmp.Compare(i.Group, other.Group), cmp.Compare(i.Resource, other.Resource), cmp.Compare(i.Version, other.Version),
		cmp.Compare(i.Namespace, other.Namespace), cmp.Compare(i.Reason, other.Reason), cmp.Compare(i.Message, other.Message),
	)
}

// SortIncomplete sorts in place and drops what is there twice.
func SortIncomplete(all []Incomplete) []Incomplete {
	slices.SortFunc(all, Incomplete.Compare)
	return slices.Compact(all)
}
