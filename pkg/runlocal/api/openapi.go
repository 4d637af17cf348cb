package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	restful "github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/handler"
)

const (
	openAPIV2Path = "/openapi/v2"
	openAPIV3Path = "/openapi/v3"
)

// openAPI serves the OpenAPI v3 documents of the built-in groups and of custom resources as one, which is the aggregation
// layer's part on a cluster.
type openAPI struct {
	builtIn *builtInDocuments
	// custom serves the documents of custom resources, kept up to date by upstream's controllers.
	custom http.Handler
}

// installOpenAPI serves the documents of server and custom on server's mux, behind authentication and authorization.
// Both have their routes already, and server skips its own installation.
func installOpenAPI(server, custom *genericapiserver.GenericAPIServer, config *genericapiserver.Config) {
	o := &openAPI{
		builtIn: newBuiltInDocuments(services(server), config.OpenAPIV3Config),
		custom:  custom.Handler.NonGoRestfulMux,
	}
	m := server.Handler.NonGoRestfulMux
	m.Handle(openAPIV3Path, http.HandlerFunc(o.serveIndex))
	m.UnlistedHandlePrefix(openAPIV3Path+"/", http.HandlerFunc(o.serveGroup))
	handler.NewOpenAPIServiceLazy(mergedV2(server, o.custom, config)).RegisterOpenAPIVersionedService(openAPIV2Path, m)
}

// services are those whose routes are documented: the root of discovery, which server does not serve itself, is one of them.
func services(server *genericapiserver.GenericAPIServer) []*restful.WebService {
	return append(server.Handler.GoRestfulContainer.RegisteredWebServices(), server.DiscoveryGroupManager.WebService())
}

// serveGroup answers for one group and version.
func (o *openAPI) serveGroup(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, openAPIV3Path+"/")
	if document, ok := o.builtIn.groups[name]; ok {
		serveBuiltIn(document(), w, r)
		return
	}
	o.serveCustom(name, w, r)
}

// serveCustom makes sure that an unknown group gets a 404: upstream's handler would answer it with an empty 200. As the aggregation
// layer's, the 404 has no body.
func (o *openAPI) serveCustom(name string, w http.ResponseWriter, r *http.Request) {
	index, err := readV3Index(o.custom, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, ok := index[name]; !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	o.custom.ServeHTTP(w, r)
}

// serveIndex lists the groups and versions that have a document. As on a cluster its content type is the one that net/http guesses,
// plain text.
func (o *openAPI) serveIndex(w http.ResponseWriter, r *http.Request) {
	all, err := readV3Index(o.custom, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	maps.Copy(all, o.builtIn.index)
	data, err := json.Marshal(v3Index{Paths: all})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := w.Write(data); err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
}

// v3Index is OpenAPIV3Discovery of kube-openapi's handler3, the body of /openapi/v3.
type v3Index struct {
	Paths map[string]v3Entry `json:"paths"`
}

type v3Entry struct {
	// ServerRelativeURL names the document and, by its hash, a version of it.
	ServerRelativeURL string `json:"serverRelativeURL"`
}

// readV3Index asks h for its index on behalf of r.
func readV3Index(h http.Handler, r *http.Request) (map[string]v3Entry, error) {
	answer := newResponse()
	inner := r.Clone(r.Context())
	inner.Method = http.MethodGet
	inner.URL.Path, inner.URL.RawQuery = openAPIV3Path, ""
	inner.Header = http.Header{"Accept": {"application/json"}}
	answer.run(h, inner)
	if answer.failure != nil {
		return nil, fmt.Errorf("reading the OpenAPI index: %w", answer.failure)
	}
	index := v3Index{Paths: map[string]v3Entry{}}
	if err := json.Unmarshal(answer.buf.Bytes(), &index); err != nil {
		return nil, fmt.Errorf("decoding the OpenAPI index: %w", err)
	}
	return index.Paths, nil
}
