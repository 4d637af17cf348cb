package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/cached"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	openAPIV2Path = "/openapi/v2"
	openAPIV3Path = "/openapi/v3"
)

// openAPI serves the OpenAPI v3 documents of the built-in groups and of custom resources as one, which is the
// aggregation layer's part on a cluster.
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

// services returns the web services whose routes are documented. The root of discovery, which server does not serve
// itself, is one of them.
func services(server *genericapiserver.GenericAPIServer) []*restful.WebService {
	return append(server.Handler.GoRestfulContainer.RegisteredWebServices(), server.DiscoveryGroupManager.WebService())
}

// serveGroup serves the document of one group and version.
func (o *openAPI) serveGroup(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, openAPIV3Path+"/")
	if document, ok := o.builtIn.groups[name]; ok {
		serveBuiltIn(document(), w, r)
		return
	}
	o.serveCustom(name, w, r)
}

// serveCustom serves the document of custom resources of a group and version. An unknown group gets a 404 without a
// body, as from the aggregation layer; upstream's handler would answer it with an empty 200.
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

// serveIndex serves the groups and versions that have a document. As on a cluster the content type is the one that
// net/http guesses, plain text.
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
		panic(http.ErrAbortHandler) // the client has disconnected
	}
}

// v3Index is OpenAPIV3Discovery of kube-openapi's handler3, the body of /openapi/v3.
type v3Index struct {
	Paths map[string]v3Entry `json:"paths"`
}

// v3Entry is OpenAPIV3DiscoveryGroupVersion of kube-openapi's handler3.
type v3Entry struct {
	// ServerRelativeURL names the document and, by its hash, a version of it.
	ServerRelativeURL string `json:"serverRelativeURL"`
}

// readV3Index requests the index from h, with the context and identity of r.
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

// mergedV2 returns the OpenAPI v2 document of server merged with the one that custom serves. Nothing is built before
// the first request: server's part takes a quarter of a second, and most sessions never read it.
func mergedV2(
	server *genericapiserver.GenericAPIServer, custom http.Handler, config *genericapiserver.Config,
) cached.Value[*spec.Swagger] {
	builtIn := cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services(server)),
			config.OpenAPIConfig)
		if err != nil {
			return nil, "", fmt.Errorf("building the OpenAPI document of the built-in groups: %w", err)
		}
		document.Definitions = handler.PruneDefaults(document.Definitions)
		return document, "built-in", nil
	}))
	return cached.MergeList(mergeV2, []cached.Value[*spec.Swagger]{builtIn, newCustomV2(custom)})
}

// mergeV2 returns the first document with the second added, as the aggregation layer does. Neither is changed.
func mergeV2(parts []cached.Result[*spec.Swagger]) (*spec.Swagger, string, error) {
	var etag strings.Builder
	for _, p := range parts {
		if p.Err != nil {
			return nil, "", p.Err
		}
		etag.WriteString(p.Etag)
	}
	merged := *parts[0].Value
	merged.Paths = &spec.Paths{VendorExtensible: merged.Paths.VendorExtensible, Paths: maps.Clone(merged.Paths.Paths)}
	merged.Definitions = maps.Clone(merged.Definitions)
	merged.Parameters = maps.Clone(merged.Parameters)
	if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(&merged,
		parts[1].Value); err != nil {
		return nil, "", fmt.Errorf("merging the OpenAPI documents: %w", err)
	}
	return &merged, etag.String(), nil
}

// newCustomV2 returns the document of custom resources that h serves. It is decoded again only when it has changed.
func newCustomV2(h http.Handler) cached.Value[*spec.Swagger] {
	var (
		mu   sync.Mutex
		etag string
		last *spec.Swagger
	)
	return cached.Func(func() (*spec.Swagger, string, error) {
		mu.Lock()
		defer mu.Unlock()
		r, err := http.NewRequest(http.MethodGet, openAPIV2Path, http.NoBody)
		if err != nil {
			return nil, "", fmt.Errorf("requesting the OpenAPI document of custom resources: %w", err)
		}
		r.Header.Set("Accept", "application/json")
		if last != nil {
			r.Header.Set("If-None-Match", etag)
		}
		answer := newResponse()
		answer.run(h, r)
		switch {
		case answer.failure != nil:
			return nil, "", fmt.Errorf("reading the OpenAPI document of custom resources: %w", answer.failure)
		case answer.code == http.StatusNotModified:
			return last, etag, nil
		}
		document := &spec.Swagger{}
		if err := document.UnmarshalJSON(answer.buf.Bytes()); err != nil {
			return nil, "", fmt.Errorf("decoding the OpenAPI document of custom resources: %w", err)
		}
		last, etag = document, answer.header.Get("Etag")
		return last, etag, nil
	})
}

// documentLifetime is how long a client may cache a document that it requested by hash; it is upstream's.
const documentLifetime = 365 * 24 * time.Hour

// builtInDocuments are the OpenAPI v3 documents of the built-in groups. All of them take a third of a second to build
// and most sessions read none, so each is built by the first request for it. Upstream's index names every document by a
// hash of its content, and the MutatingAdmissionPolicy plugin reads the index every five seconds; here the hash is the
// version of the code that the documents are made from, which identifies them as well.
type builtInDocuments struct {
	index map[string]v3Entry
	// groups has a handler for each group and version, such as "apis/apps/v1". The first call builds the document; one
	// document is built at a time.
	groups map[string]func() http.Handler
}

func newBuiltInDocuments(services []*restful.WebService, config *openapicommon.OpenAPIV3Config) *builtInDocuments {
	d := &builtInDocuments{index: map[string]v3Entry{}, groups: map[string]func() http.Handler{}}
	var building sync.Mutex // upstream does not say that a config may be used concurrently
	for _, service := range services {
		name := strings.TrimPrefix(service.RootPath(), "/")
		d.index[name] = v3Entry{ServerRelativeURL: documentURL(name)}
		d.groups[name] = sync.OnceValue(func() http.Handler {
			building.Lock()
			defer building.Unlock()
			return buildV3(service, config)
		})
	}
	return d
}

// documentURL returns the URL of the document of a group and version in the index.
func documentURL(name string) string {
	at := url.URL{Path: openAPIV3Path + "/" + name, RawQuery: url.Values{"hash": {KubernetesVersion()}}.Encode()}
	return at.String()
}

// buildV3 builds the document of one group by upstream's code, in a container without other groups.
func buildV3(service *restful.WebService, config *openapicommon.OpenAPIV3Config) http.Handler {
	alone, own := restful.NewContainer(), mux.NewPathRecorderMux("openapi")
	alone.Add(service)
	routes.OpenAPI{V3Config: config}.InstallV3(alone, own)
	return own
}

// serveBuiltIn serves a document. A client that requests the hash of this version may cache it, one that requests
// another hash is redirected. The parameter is removed for the handler below, which has other hashes.
func serveBuiltIn(document http.Handler, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch query.Get("hash") {
	case "":
	case KubernetesVersion():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().Add(documentLifetime).UTC().Format(http.TimeFormat))
	default:
		current := documentURL(strings.TrimPrefix(r.URL.Path, openAPIV3Path+"/"))
		http.Redirect(w, r, current, http.StatusMovedPermanently) //nolint:gosec // G710: it is a path of this server
		return
	}
	query.Del("hash")
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = query.Encode()
	document.ServeHTTP(w, inner)
}
