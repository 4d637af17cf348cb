package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The values of Incomplete.Reason, beside the server's own (NotFound, MethodNotAllowed and other values of
// metav1.StatusReason).
const (
	// ReasonDiscovery means that the kinds of the group are unknown, usually because an aggregated API does not answer.
	ReasonDiscovery = "Discovery"
	// ReasonUnavailable means that no server is available for the kind: 502, 503, or a broken connection.
	ReasonUnavailable = "Unavailable"
	// ReasonTimeout means that the answer did not arrive in time.
	ReasonTimeout = "Timeout"
	// ReasonForbidden means that the user is not allowed to read it, ReasonUnauthorized that the server does not accept
	// the user's credentials.
	ReasonForbidden    = "Forbidden"
	ReasonUnauthorized = "Unauthorized"
	// ReasonNotRecorded means that a recording is read, and does not have it.
	ReasonNotRecorded = "NotRecorded"
	// ReasonNotServed means that the server no longer serves the kind.
	ReasonNotServed = "NotServed"
	// ReasonConversion means that a webhook that converts the objects of the kind failed.
	ReasonConversion = "Conversion"
	// ReasonInternal is any other internal error of the server.
	ReasonInternal = "Internal"
	// ReasonUnreadable means that the answer could not be decoded.
	ReasonUnreadable = "Unreadable"
	// ReasonTooMany means that a limit was reached, and not all was read.
	ReasonTooMany = "TooMany"
)

// Incomplete describes what could not be read, and why.
type Incomplete struct {
	// Group, Version and Resource name the kind. Resource is empty if no kind of the version could be read.
	Group    string `json:"group,omitempty"`
	Version  string `json:"version,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Namespace is empty if the whole cluster was to be read.
	Namespace string `json:"namespace,omitempty"`
	// Reason is one word, for programs; Message is the error of the server or the connection.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Compare orders by group, resource, version, namespace and reason.
func (i Incomplete) Compare(other Incomplete) int {
	return cmp.Or(
		cmp.Compare(i.Group, other.Group), cmp.Compare(i.Resource, other.Resource),
		cmp.Compare(i.Version, other.Version), cmp.Compare(i.Namespace, other.Namespace),
		cmp.Compare(i.Reason, other.Reason), cmp.Compare(i.Message, other.Message),
	)
}

// SortIncomplete sorts in place and returns the slice without duplicates.
func SortIncomplete(all []Incomplete) []Incomplete {
	sort.Slice(all, func(i, j int) bool { return all[i].Compare(all[j]) < 0 })
	return slices.Compact(all)
}

// CodeText returns the code and the reason of an error whose cause is the server, such as " (500 InternalError)": its
// message may be anything. It is empty for other errors, whose messages name what is wrong with the request.
func CodeText(err apierrors.APIStatus) string {
	s := err.Status()
	if s.Code < http.StatusInternalServerError {
		return ""
	}
	reason := string(s.Reason)
	if reason == "" {
		reason = http.StatusText(int(s.Code))
	}
	return fmt.Sprintf(" (%d %s)", s.Code, reason)
}

// Errors of the Reader itself, for Reason.
var (
	errNoAnswer   = errors.New("no answer")
	errUnreadable = errors.New("unreadable answer")
)

// Incomplete describes that the target could not be read because of err, which must not be nil.
func (t Target) Incomplete(err error) Incomplete {
	return Incomplete{
		Group: t.Kind.Group, Version: t.Kind.Version, Resource: t.Kind.Resource, Namespace: t.Namespace,
		Reason: Reason(err), Message: message(err),
	}
}

// message returns the text of the error without the URL, which Incomplete has already: so kinds that failed for the
// same reason have the same message.
func message(err error) string {
	request, tooLarge := (*url.Error)(nil), (*AnswerTooLargeError)(nil)
	status := apierrors.APIStatus(nil)
	switch {
	case errors.As(err, &tooLarge):
		return tooLarge.Error()
	case errors.As(err, &request):
		return request.Err.Error()
	case errors.As(err, &status):
		return err.Error() + CodeText(status)
	}
	return err.Error()
}

// Reason returns the value of Incomplete.Reason for an error of a Reader; empty for nil.
func Reason(err error) string {
	var status apierrors.APIStatus
	var network net.Error
	var tooLarge *AnswerTooLargeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &tooLarge):
		return ReasonTooMany
	case errors.Is(err, errNoAnswer), errors.Is(err, context.DeadlineExceeded),
		apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
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

// reasonOfStatus returns the reason for a Status from the server. The failure of a conversion webhook is recognized
// by its message (webhook_converter.go of k8s.io/apiextensions-apiserver), as it has no reason.
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
