package cluster

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

var (
	errNoAnswer   = errors.New("no answer")
	errUnreadable = errors.New("unreadable answer")
)

// Incomplete says that the target could not be read because of err, which is not nil.
func (t Target) Incomplete(err error) Incomplete {
	return Incomplete{
		Group: t.Kind.Group, Version: t.Kind.Version, Resource: t.Kind.Resource, Namespace: t.Namespace,
		Reason: Reason(err), Message: message(err),
	}
}

// message is the error without the address that was asked for, which what is incomplete tells already: so that many kinds
// can be told to have failed alike.
func message(err error) string {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return request.Err.Error()
	}
	return err.Error()
}

// Reason is the word for an error of a Reader, as in Incomplete.Reason; empty for nil.
func Reason(err error) string {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errNoAnswer), errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return ReasonTimeout
	case errors.Is(err, errUnreadable):
		return ReasonUnreadable
	case errors.As(err, &status):
		return reasonOfStatus(err, status)
	case errors.As(err, &network) && network.Timeout():
		return ReasonTimeout
	}
	return ReasonUnavailable
}

// reasonOfStatus names what the server answered. The failure of a webhook that converts has no reason of its own: the
// message of webhook_converter.go of k8s.io/apiextensions-apiserver tells it.
func reasonOfStatus(err error, status apierrors.APIStatus) string {
	s := status.Status()
	switch {
	case strings.Contains(s.Message, "conversion webhook for "):
		return ReasonConversion
	case apierrors.IsNotFound(err):
		return ReasonNotServed
	case s.Code == 502, s.Code == 503, apierrors.IsServiceUnavailable(err):
		return ReasonUnavailable
	case s.Code == 504:
		return ReasonTimeout
	case s.Reason != "" && !apierrors.IsInternalError(err):
		return string(s.Reason)
	}
	return ReasonInternal
}
