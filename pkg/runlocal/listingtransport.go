package runlocal

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

const (
	// maxParallelLists is how many lists may run at a time: a start requests all that the controllers read.
	maxParallelLists = 16
	// slowList is after how long a list makes room for another.
	slowList = 10 * time.Second
)

// listingTransport records how the lists and watches of informers end, and bounds how many lists run at a time.
type listingTransport struct {
	*listings
	prefix string
	slots  chan struct{}
	next   http.RoundTripper
}

// WrappedRoundTripper lets apimachinery find the transport below.
func (t *listingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// listingRequest is a list or watch of an informer.
type listingRequest struct {
	resource schema.GroupResource
	// fills reports whether the answer has all objects: that of a list, or of a watch that begins with one.
	fills bool
	watch bool
}

// informerRequest reads a request, and reports whether it is an informer's: these name a resource version.
func informerRequest(req *http.Request, prefix string) (listingRequest, bool) {
	if req.Method != http.MethodGet {
		return listingRequest{}, false
	}
	info, err := apirequest.Read(req, prefix)
	if err != nil || !info.IsResourceRequest || info.Subresource != "" || info.Verb != "list" && info.Verb != "watch" {
		return listingRequest{}, false
	}
	query := req.URL.Query()
	r := listingRequest{resource: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource},
		watch: info.Verb == "watch"}
	r.fills = !r.watch || query.Get("sendInitialEvents") == "true"
	return r, r.watch || query.Has("resourceVersion") || query.Has("continue")
}

// RoundTrip implements http.RoundTripper.
func (t *listingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r, ok := informerRequest(req, t.prefix)
	if !ok {
		return t.next.RoundTrip(req)
	}
	release := func() {}
	if r.watch {
		t.answered(r.resource, false)
	}
	if r.fills {
		t.requested(r.resource)
		select {
		case t.slots <- struct{}{}:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		release = sync.OnceFunc(func() { <-t.slots })
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		release()
		t.refused(r, resp, err)
		return resp, err
	}
	if r.fills {
		late := time.AfterFunc(slowList, release)
		resp.Body = &listingBody{ReadCloser: resp.Body, watch: r.watch, ended: sync.OnceFunc(func() {
			late.Stop()
			release()
		}), whole: func() {
			t.listed(r.resource)
			t.answered(r.resource, !r.watch)
		}}
	}
	return resp, nil
}

// refused records why a resource cannot be listed or watched. Informers try another way when a server does not know how
// to begin a watch with a list, and again when a version is too old or the server is busy: these are not recorded.
func (t *listingTransport) refused(r listingRequest, resp *http.Response, err error) {
	switch {
	case err != nil:
		return // that the server is not there is not a matter of this resource
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusGone,
		resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= http.StatusInternalServerError:
		return
	}
	reason := statusError(resp)
	if r.watch && r.fills && !apierrors.IsForbidden(reason) && !apierrors.IsNotFound(reason) {
		return
	}
	t.failed(r.resource, reason)
}

// statusError is the error in an answer, which can still be read.
func statusError(resp *http.Response) error {
	head, err := apirequest.Head(resp)
	if err == nil {
		if obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(head, nil, nil); err == nil {
			if status, ok := obj.(*metav1.Status); ok {
				return apierrors.FromObject(status)
			}
		}
	}
	reasons := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusNotFound: metav1.StatusReasonNotFound}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(resp.StatusCode), //nolint:gosec // an HTTP status
		Reason: reasons[resp.StatusCode], Message: "the server answers " + resp.Status,
	}}
}

// listingBody is the body of an answer that fills a cache. It calls whole when all objects have been read, and ended
// when the list is over.
type listingBody struct {
	io.ReadCloser
	watch bool
	tail  []byte // of what has been read of a watch, in case the mark is cut in two
	ended func() // the list is over, whole or not
	whole func()
}

// initialEventsEnd is in the bookmark of a watch that follows the objects which existed when it began.
var initialEventsEnd = []byte(metav1.InitialEventsAnnotationKey)

// Read implements io.Reader.
func (b *listingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.watch && b.whole != nil && b.marked(p[:n]), !b.watch && b.whole != nil && errors.Is(err, io.EOF):
		b.whole()
		b.whole, b.tail = nil, nil
		b.ended()
	case err != nil:
		b.ended()
	}
	return n, err
}

// marked reports whether the mark is in what was read.
func (b *listingBody) marked(read []byte) bool {
	seam := slices.Concat(b.tail, read[:min(len(read), len(initialEventsEnd))])
	if bytes.Contains(seam, initialEventsEnd) || bytes.Contains(read, initialEventsEnd) {
		return true
	}
	keep := read
	if len(read) < len(initialEventsEnd) {
		keep = slices.Concat(b.tail, read)
	}
	b.tail = bytes.Clone(keep[max(0, len(keep)-len(initialEventsEnd)+1):])
	return false
}

// Close implements io.Closer.
func (b *listingBody) Close() error {
	b.ended()
	return b.ReadCloser.Close()
}
