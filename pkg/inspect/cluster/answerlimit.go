package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// How large an answer may be, in bytes after decompression.
const (
	maxDiscovery = 16 << 20  // a document that says which kinds there are
	maxAnswer    = 256 << 20 // an object, a page of a list, or any other answer
	// maxWholeList is for lists that are not decoded from one buffer of JSON: in protobuf, of up to 10,000 objects, and
	// of informers, which do not ask for pages.
	maxWholeList = 4 << 30
	maxEvent     = 16 << 20 // an event of a watch in JSON; client-go limits those in protobuf itself
)

// AnswerTooLargeError is the error of reading an answer that is larger than LimitAnswers allows.
type AnswerTooLargeError struct {
	Path  string // of the request
	Event bool   // an event of a watch was too large
	Limit int64  // in bytes
}

// Error names what was read, and the limit.
func (e *AnswerTooLargeError) Error() string {
	what := "the answer to GET " + e.Path
	if e.Event {
		what = "an event of the watch of " + e.Path
	}
	return fmt.Sprintf("%s is larger than the limit of %d MiB", what, e.Limit>>20)
}

// LimitAnswers returns a transport that ends answers with an AnswerTooLargeError where they exceed what an API server
// sends: so no server can fill the memory. Watches may go on for ever; there the limit is for each event.
func LimitAnswers(next http.RoundTripper) http.RoundTripper { return answerLimiter{next} }

type answerLimiter struct{ next http.RoundTripper }

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery, which looks for the innermost transport.
func (l answerLimiter) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l answerLimiter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err != nil || resp.Body == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	inProtobuf := strings.Contains(resp.Header.Get("Content-Type"), "protobuf")
	tooLarge := AnswerTooLargeError{Path: req.URL.Path}
	query := req.URL.Query()
	if watch := query.Get("watch"); watch == "true" || watch == "1" {
		if inProtobuf {
			return resp, nil
		}
		tooLarge.Event, tooLarge.Limit = true, maxEvent
	} else {
		tooLarge.Limit = answerLimit(req.URL.Path, query, inProtobuf)
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, tooLarge: tooLarge}
	return resp, nil
}

// answerLimit returns how large the answer to a request, which is not a watch, may be.
func answerLimit(path string, query url.Values, inProtobuf bool) int64 {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	root := slices.IndexFunc(segments, func(s string) bool { return s == "api" || s == "apis" })
	if root < 0 {
		return maxAnswer
	}
	version := root + 2 // the segment after the group, if there is one, and the version
	if segments[root] == "apis" {
		version++
	}
	if len(segments) <= version {
		return maxDiscovery
	}
	resource := segments[version:]
	if resource[0] == "namespaces" && len(resource) > 2 {
		resource = resource[2:]
	}
	if len(resource) == 1 && (inProtobuf || !query.Has("limit")) {
		return maxWholeList
	}
	return maxAnswer
}

// limitedBody is a body that fails where it, or an event in it, is too large.
type limitedBody struct {
	io.ReadCloser
	tooLarge AnswerTooLargeError
	n        int64 // bytes read, of the event if the limit is for each
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.n > b.tooLarge.Limit {
		return 0, &b.tooLarge
	}
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if end := bytes.LastIndexByte(p[:n], '\n'); b.tooLarge.Event && end >= 0 {
		b.n = int64(n - end - 1)
	}
	if b.n > b.tooLarge.Limit {
		return n, &b.tooLarge
	}
	return n, err
}
