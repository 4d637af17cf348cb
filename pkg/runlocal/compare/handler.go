package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// caller is who has sent a request, and what it works on.
type caller struct {
	keyID
	reconcile trace.ReconcileID
}

// handler answers the writes of the compared controllers, and passes all other requests on.
type handler struct {
	next http.Handler
	// who returns who has sent a request; false for others than the compared controllers.
	who func(*http.Request) (caller, bool)
	// write compares a write, and returns how it is to be answered.
	write func(context.Context, *write) answer
	// outside means that a program writes: the API must find out what its writes would do, and keeps what is not
	// compared.
	outside bool
}

var _ http.Handler = (*handler)(nil)

// answer is how a write is answered.
type answer struct {
	// object is the name of the object to answer with; "" answers a deletion.
	name string
	// refused, if it is not empty, is why the write is refused, with the code and the reason.
	refused string
	code    int
	reason  metav1.StatusReason
	// response, if it is not nil, is the answer.
	response *memoryResponse
	// pass has the API do what was requested.
	pass bool
	// finish, if it is not nil, is called once the API has tried the write, whose answer is that of the API.
	finish func()
}

// maxBody bounds the body of a request, as the API server does.
const maxBody = 3 << 20

// uncompared are resources whose writes are not compared: who is leader, and what controllers report beside their work.
var uncompared = []schema.GroupResource{
	{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
	{Group: "coordination.k8s.io", Resource: "leases"},
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := genericapirequest.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest || !isWrite(info.Verb) || req.URL.Query().Has("dryRun") {
		h.next.ServeHTTP(w, req)
		return
	}
	if info.Resource == "namespaces" && info.APIGroup == "" { // a namespace is said to be in itself
		itself := *info
		itself.Namespace = ""
		info = &itself
	}
	from, ours := h.who(req)
	isCompared := isCompared(info)
	if !ours || h.outside && !isCompared {
		h.next.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	if err != nil {
		respond(w, answer{refused: err.Error(), code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest})
		return
	}
	if !isCompared {
		h.accept(w, req, info, body)
		return
	}
	if info.Verb == "deletecollection" {
		h.deleteAll(w, req, info, from)
		return
	}
	read := h.read
	if h.outside {
		read = h.try
	}
	made, err := read(req, info, from, body)
	if err == nil && made.response.isError() {
		made.response.copyTo(w)
		return
	}
	if err != nil {
		respond(w, answer{refused: err.Error(), code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest})
		return
	}
	h.respondTo(w, req, info, body, made)
}

// respondTo has a write compared, and sends the answer.
func (h *handler) respondTo(
	w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo, body []byte, made *write,
) {
	a := h.write(req.Context(), made)
	switch {
	case a.pass:
		req.Body = io.NopCloser(bytes.NewReader(body))
		h.next.ServeHTTP(w, req)
		return
	case a.response != nil:
		a.response.copyTo(w)
		return
	case a.finish != nil:
		tried := h.dryRun(req, body)
		if !tried.isError() {
			a.finish()
		}
		tried.copyTo(w)
		return
	case a.refused != "" || a.name == "":
		respond(w, a)
		return
	}
	code := http.StatusOK
	if made.verb == VerbCreate {
		code = http.StatusCreated
	}
	h.get(w, req, info, a.name, code)
}

// isCompared reports whether the writes of a resource are compared. Questions to the server change nothing.
func isCompared(info *genericapirequest.RequestInfo) bool {
	if info.APIGroup == "authentication.k8s.io" || info.APIGroup == "authorization.k8s.io" {
		return false
	}
	return !slices.Contains(uncompared, schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
}

// scaleSubresource is the subresource whose objects are of another kind than what they change.
const scaleSubresource = "scale"

func isWrite(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// accept answers a write that is not compared with what was sent.
func (h *handler) accept(w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo, body []byte) {
	if info.Verb != "create" && info.Verb != "update" {
		respond(w, answer{})
		return
	}
	if contentType := req.Header.Get("Content-Type"); contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// read makes out what a request writes.
func (h *handler) read(
	req *http.Request, info *genericapirequest.RequestInfo, from caller, body []byte,
) (*write, error) {
	out := &write{keyID: from.keyID, reconcile: from.reconcile, object: trace.Object{
		Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
		Namespace: info.Namespace, Name: info.Name,
	}}
	var obj untyped.Map
	var err error
	switch info.Verb {
	case "create":
		out.verb = VerbCreate
		if info.Subresource != "" {
			return nil, fmt.Errorf("%s/%s cannot be created here", info.Resource, info.Subresource)
		}
		if obj, err = decode(body); err == nil {
			out.object.Name = obj.Text("metadata", "name")
			out.generated = out.object.Name == ""
		}
	case "update":
		obj, err = decode(body)
	case "patch":
		obj, err = h.tryPatch(req, info, body)
	case "delete":
		out.verb = VerbDelete
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if out.verb == "" {
		out.verb = VerbUpdate
		if info.Subresource == "status" {
			out.verb = VerbUpdateStatus
		}
	}
	if info.Subresource == scaleSubresource {
		out.scale, out.replicas = true, obj.Count(0, "spec", "replicas")
		return out, nil
	}
	out.object.Kind = obj.Text("kind")
	out.content = contentOf(obj, out.verb)
	return out, nil
}

// tryPatch returns what the object, or its subresource, would be after a patch.
func (h *handler) tryPatch(req *http.Request, info *genericapirequest.RequestInfo, body []byte) (untyped.Map, error) {
	answered := h.dryRun(req, body)
	if answered.code >= http.StatusBadRequest {
		var status metav1.Status
		if json.Unmarshal(answered.body.Bytes(), &status) == nil && status.Message != "" {
			return nil, fmt.Errorf("patching %s %q: %s", info.Resource, info.Name, status.Message)
		}
		return nil, fmt.Errorf("patching %s %q: %d", info.Resource, info.Name, answered.code)
	}
	return parse(answered.body.Bytes())
}

// dryRun returns what the API answers to a write if it does not keep it.
func (h *handler) dryRun(req *http.Request, body []byte) *memoryResponse {
	try := req.Clone(req.Context())
	query := req.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	try.URL.RawQuery = query.Encode()
	try.Header.Set("Accept", "application/json")
	try.Body = io.NopCloser(bytes.NewReader(body))
	answered := newMemoryResponse()
	h.next.ServeHTTP(answered, try)
	return answered
}

// try makes out what a request of a program would do, by having the API try it. Its response may be an error.
func (h *handler) try(
	req *http.Request, info *genericapirequest.RequestInfo, _ caller, body []byte,
) (*write, error) {
	if !slices.Contains([]string{"", "status", scaleSubresource}, info.Subresource) {
		return nil, fmt.Errorf("%s of %s/%s cannot be compared", info.Verb, info.Resource, info.Subresource)
	}
	out := &write{response: h.dryRun(req, body), object: trace.Object{
		Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
		Namespace: info.Namespace, Name: info.Name,
	}}
	if out.response.isError() {
		return out, nil
	}
	if info.Verb == "delete" {
		out.verb = VerbDelete
		return out, nil
	}
	obj, err := decode(out.response.body.Bytes())
	if err != nil {
		return nil, err
	}
	if info.Subresource == scaleSubresource {
		out.scale, out.replicas = true, obj.Count(0, "spec", "replicas")
		return out, nil
	}
	out.after, out.object.Kind, out.object.Name = obj, obj.Text("kind"), obj.Text("metadata", "name")
	if info.Verb == "create" && isUnnamed(body) {
		out.generated, out.object.Name = true, ""
	}
	return out, nil
}

// deleteAll takes the deletion of a collection for one of each object in it.
func (h *handler) deleteAll(
	w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo, from caller,
) {
	list := *info
	list.Verb = "list"
	try := req.Clone(genericapirequest.WithRequestInfo(req.Context(), &list))
	try.Method, try.Body, try.ContentLength = http.MethodGet, http.NoBody, 0
	try.Header.Set("Accept", "application/json")
	answered := newMemoryResponse()
	h.next.ServeHTTP(answered, try)
	if answered.isError() {
		answered.copyTo(w)
		return
	}
	found, err := parse(answered.body.Bytes())
	if err != nil {
		respond(w, answer{
			refused: err.Error(), code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError,
		})
		return
	}
	for _, item := range found.Maps("items") {
		a := h.write(req.Context(), &write{
			keyID: from.keyID, reconcile: from.reconcile, verb: VerbDelete,
			object: trace.Object{
				Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
				Namespace: item.Text("metadata", "namespace"), Name: item.Text("metadata", "name"),
			},
		})
		if a.pass {
			answered := h.delete(req, info, item.Text("metadata", "namespace"), item.Text("metadata", "name"))
			if answered.isError() && answered.code != http.StatusNotFound {
				answered.copyTo(w)
				return
			}
		}
		if a.refused != "" {
			respond(w, a)
			return
		}
	}
	respond(w, answer{})
}

// delete has the API delete one object of a collection.
func (h *handler) delete(
	req *http.Request, info *genericapirequest.RequestInfo, namespace, name string,
) *memoryResponse {
	one := *info
	one.Verb, one.Namespace, one.Name, one.Parts = "delete", namespace, name, []string{info.Resource, name}
	answered := newMemoryResponse()
	h.next.ServeHTTP(answered, requestFor(req, &one, http.MethodDelete))
	return answered
}

// isUnnamed reports whether an object leaves its name to the API.
func isUnnamed(body []byte) bool {
	obj, err := decode(body)
	return err == nil && obj.Text("metadata", "name") == ""
}

// get answers a write with an object, as it is read.
func (h *handler) get(
	w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo, name string, code int,
) {
	read := *info
	read.Verb, read.Subresource, read.Name = "get", "", name
	read.Parts = []string{info.Resource, name}
	if info.Subresource == scaleSubresource {
		read.Subresource, read.Parts = scaleSubresource, append(read.Parts, scaleSubresource)
	}
	h.next.ServeHTTP(&codeWriter{ResponseWriter: w, ok: code}, requestFor(req, &read, http.MethodGet))
}

// requestFor returns a request for an object, or its subresource, by the client of another request. It has no body and
// no options.
func requestFor(req *http.Request, info *genericapirequest.RequestInfo, method string) *http.Request {
	path := "/" + info.APIPrefix
	if info.APIGroup != "" {
		path += "/" + info.APIGroup
	}
	path += "/" + info.APIVersion
	if info.Namespace != "" {
		path += "/namespaces/" + url.PathEscape(info.Namespace)
	}
	path += "/" + info.Resource + "/" + url.PathEscape(info.Name)
	if info.Subresource != "" {
		path += "/" + info.Subresource
	}
	info.Path = path
	out := req.Clone(genericapirequest.WithRequestInfo(req.Context(), info))
	out.Method, out.Body, out.ContentLength = method, http.NoBody, 0
	out.Header.Del("Content-Type")
	out.URL.Path, out.URL.RawPath, out.URL.RawQuery = path, "", ""
	out.RequestURI = path
	return out
}

// codeWriter replaces the code 200.
type codeWriter struct {
	http.ResponseWriter
	ok int
}

// WriteHeader implements http.ResponseWriter.
func (c *codeWriter) WriteHeader(code int) {
	if code == http.StatusOK {
		code = c.ok
	}
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (c *codeWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// respond answers with a Status.
func respond(w http.ResponseWriter, a answer) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess, Code: http.StatusOK,
	}
	if a.refused != "" {
		status.Status, status.Message, status.Reason = metav1.StatusFailure, a.refused, a.reason
		status.Code = int32(a.code)                                        //nolint:gosec // G115: an HTTP status
		if strings.Contains(a.refused, "because it is being terminated") { // controllers give up then
			cause := metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}
			status.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{cause}}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // a client that is gone needs no answer
}

// memoryResponse keeps an answer. It is not httptest.ResponseRecorder, which lacks CloseNotify, and whose package reads
// the arguments of the program for a flag of tests.
type memoryResponse struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newMemoryResponse() *memoryResponse {
	return &memoryResponse{header: http.Header{}, code: http.StatusOK}
}

// Header implements http.ResponseWriter.
func (m *memoryResponse) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memoryResponse) WriteHeader(code int) { m.code = code }

// Write implements http.ResponseWriter.
func (m *memoryResponse) Write(p []byte) (int, error) { return m.body.Write(p) }

// isError reports whether the answer is one, and not a success.
func (m *memoryResponse) isError() bool { return m != nil && m.code >= http.StatusBadRequest }

// copyTo sends the answer.
func (m *memoryResponse) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), m.header)
	w.WriteHeader(m.code)
	_, _ = w.Write(m.body.Bytes()) //nolint:gosec // G705: what the API answers; a client that is gone needs none
}

// Flush implements http.Flusher.
func (m *memoryResponse) Flush() {}

// CloseNotify implements http.CloseNotifier, which upstream's response wrappers require.
func (m *memoryResponse) CloseNotify() <-chan bool { return nil }
