package api

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	openapicommon "k8s.io/kube-openapi/pkg/common"
)

// documentLifetime is how long a client may keep a document that it asked for by hash; it is upstream's.
const documentLifetime = 365 * 24 * time.Hour

// builtInDocuments are the OpenAPI v3 documents of the built-in groups. All of them take a third of a second to build and
// most sessions read none, so each is built by the first request for it. Upstream's index names every document by a hash
// of its content, and the MutatingAdmissionPolicy plugin reads the index every five seconds; here the hash is the version
// of the code that the documents are made from, which identifies them as well.
type builtInDocuments struct {
	index map[string]v3Entry
	// groups has a handler for each group and version, such as "apis/apps/v1". A call builds the document if nobody has
	// yet, and waits for whoever is building one.
	groups map[string]func() http.Handler
}

func newBuiltInDocuments(services []*restful.WebService, config *openapicommon.OpenAPIV3Config) *builtInDocuments {
	d := &builtInDocuments{index: map[string]v3Entry{}, groups: map[string]func() http.Handler{}}
	var building sync.Mutex // the builder does not report whether one config may be used twice at a time
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

// documentURL is where the index says that the document of a group and version is.
func documentURL(name string) string {
	at := url.URL{Path: openAPIV3Path + "/" + name, RawQuery: url.Values{"hash": {KubernetesVersion()}}.Encode()}
	return at.String()
}

// buildV3 has upstream build the document of one group, by way of a container that has no other.
func buildV3(service *restful.WebService, config *openapicommon.OpenAPIV3Config) http.Handler {
	alone, own := restful.NewContainer(), mux.NewPathRecorderMux("openapi")
	alone.Add(service)
	routes.OpenAPI{V3Config: config}.InstallV3(alone, own)
	return own
}

// serveBuiltIn serves a document. A client that asks for the hash of this version may keep it, and one that asks for another is
// sent there; the handler below has hashes of its own and must not see it.
func serveBuiltIn(document http.Handler, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch query.Get("hash") {
	case "":
	case KubernetesVersion():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().Add(documentLifetime).UTC().Format(http.TimeFormat))
	default:
		http.Redirect(w, r, documentURL(strings.TrimPrefix(r.URL.Path, openAPIV3Path+"/")), http.StatusMovedPermanently) //nolint:gosec // G710: documentURL begins with a path of this server
		return
	}
	query.Del("hash")
	inner := r.Clone(r.Context())
	inner.URL.RawQuery = query.Encode()
	document.ServeHTTP(w, inner)
}
