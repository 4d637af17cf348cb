package cluster

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
