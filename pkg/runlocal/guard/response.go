package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

// newResponse returns a response that did not come from the server. Answered reports true for it.
func newResponse(req *http.Request, code int, contentType string, body []byte) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}, notSentHeader: {"true"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: req,
	}
}

// statusResponse returns a response with s as its body.
func statusResponse(req *http.Request, s metav1.Status) *http.Response {
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(s)
	if err != nil { // a Status can always be encoded
		body = []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure"}`)
	}
	return newResponse(req, int(s.Code), runtime.ContentTypeJSON, body)
}

// refusal returns the response to a request that must not be sent.
func refusal(req *http.Request, code int, why string) *http.Response {
	return statusResponse(req, metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), //nolint:gosec // an HTTP status
		Reason: reasons[code], Message: "dry run: not sent: " + why,
	})
}

// reasons are the reasons that a server gives for the status codes of refusal.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:            metav1.StatusReasonForbidden,
	http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType,
	http.StatusBadRequest:           metav1.StatusReasonBadRequest,
	http.StatusConflict:             metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity:  metav1.StatusReasonInvalid,
}

// refusedByWebhook reports whether a dry run failed only because an admission webhook does not support dry runs
// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors). The body of resp can still be read.
func refusedByWebhook(resp *http.Response) bool {
	if resp.StatusCode != http.StatusBadRequest {
		return false
	}
	head, err := apirequest.Head(resp)
	return err == nil && strings.Contains(string(head), "admission webhook ") &&
		strings.Contains(string(head), "does not support dry run")
}
