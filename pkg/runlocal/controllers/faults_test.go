package controllers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// faultyTransport is a transport to an API server with faults, which a test changes while it is used.
type faultyTransport struct {
	next http.RoundTripper

	mu sync.Mutex
	// held are the paths whose lists and watches are answered when the channel is closed.
	held map[string]chan struct{}
	// broken are the paths whose lists and watches fail, and below which nothing is found.
	broken map[string]bool
	// plain has the server know no watches that begin with a list, nor discovery of all groups at once.
	plain    bool
	requests map[string]int // by path
}

// on returns a copy of the configuration whose requests have the faults.
func (f *faultyTransport) on(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		f.next = next
		return f
	})
	return config
}

func (f *faultyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	path := req.URL.Path
	f.mu.Lock()
	if f.requests == nil {
		f.requests = map[string]int{}
	}
	f.requests[path]++
	held, broken, plain := f.held[path], f.broken[path], f.plain
	below := slices.ContainsFunc(slices.Collect(keysOf(f.broken)), func(p string) bool {
		group, resource := p[:strings.LastIndexByte(p, '/')], p[strings.LastIndexByte(p, '/'):]
		return strings.HasPrefix(path, group+"/namespaces/") && strings.Contains(path, resource+"/")
	})
	f.mu.Unlock()
	if plain && (path == "/api" || path == "/apis") {
		req = req.Clone(req.Context())
		req.Header.Set("Accept", "application/json")
	}
	switch {
	case req.Method != http.MethodGet:
	case broken:
		return answerOf(req, apierrors.NewInternalError(context.DeadlineExceeded)), nil
	case below:
		return answerOf(req, apierrors.NewNotFound(schema.GroupResource{}, path)), nil
	case plain && req.URL.Query().Get("sendInitialEvents") == "true":
		return answerOf(req, apierrors.NewInvalid(schema.GroupKind{}, "", nil)), nil
	case held != nil:
		select {
		case <-held:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return f.next.RoundTrip(req)
}

func keysOf(m map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k, is := range m {
			if is && !yield(k) {
				return
			}
		}
	}
}

func answerOf(req *http.Request, err *apierrors.StatusError) *http.Response {
	body, encodeErr := unstructuredStatus(err)
	if encodeErr != nil {
		panic(encodeErr)
	}
	return &http.Response{
		StatusCode: int(err.ErrStatus.Code), Status: http.StatusText(int(err.ErrStatus.Code)), Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func unstructuredStatus(err *apierrors.StatusError) (string, error) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure",
		"code": int64(err.ErrStatus.Code), "reason": string(err.ErrStatus.Reason), "message": err.ErrStatus.Message,
	}}
	b, encodeErr := u.MarshalJSON()
	return string(b), encodeErr
}

func (f *faultyTransport) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *faultyTransport) requestsTo(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[path]
}
