package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pages asks for page after page and returns the resource version of the list.
//
// A continue token lives as long as the server keeps the past, five minutes by default. When it has expired, the answer
// holds another with which the list goes on behind the last object, at the time of now (handleCompactedErrorForPaging of
// k8s.io/apiserver/pkg/storage/etcd3). An answer without one, as other servers give it, means to begin again, in one page
// that cannot expire.
func pages(ctx context.Context, options metav1.ListOptions, page func(*metav1.ListOptions) (metav1.ListMeta, error)) (string, error) {
	restarted := false
	for {
		list, err := page(&options)
		switch {
		case err == nil && list.Continue == "":
			return list.ResourceVersion, nil
		case err == nil:
			options.Continue = list.Continue
		case ctx.Err() != nil || options.Continue == "" || restarted || !expired(err):
			return "", err
		default:
			restarted = goOn(&options, err)
		}
		// A continue token holds the resource version; a request must not name another.
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// goOn changes options so that they go on after a token expired. It returns true if that means to begin again.
func goOn(options *metav1.ListOptions, err error) bool {
	next := ""
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		next = status.Status().Continue
	}
	if next == options.Continue {
		next = ""
	}
	options.Continue = next
	if next != "" {
		return false
	}
	options.Limit = 0
	return true
}
