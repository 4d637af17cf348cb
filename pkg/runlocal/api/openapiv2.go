package api

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// mergedV2 is the OpenAPI v2 document of server with that which custom serves. Nothing is built before it is asked for:
// server's part takes a quarter of a second, and most sessions never read it.
func mergedV2(server *genericapiserver.GenericAPIServer, custom http.Handler, config *genericapiserver.Config) cached.Value[*spec.Swagger] {
	builtIn := cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services(server)), config.OpenAPIConfig)
		if err != nil {
			return nil, "", fmt.Errorf("building the OpenAPI document of the built-in groups: %w", err)
		}
		document.Definitions = handler.PruneDefaults(document.Definitions)
		return document, "built-in", nil
	}))
	return cached.MergeList(mergeV2, []cached.Value[*spec.Swagger]{builtIn, newCustomV2(custom)})
}

// mergeV2 adds the second document to the first, as the aggregation layer does. Neither is changed.
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
	if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(&merged, parts[1].Value); err != nil {
		return nil, "", fmt.Errorf("merging the OpenAPI documents: %w", err)
	}
	return &merged, etag.String(), nil
}

// newCustomV2 reads the document of custom resources from h, and decodes it only when it has changed.
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
			return nil, "", fmt.Errorf("asking for the OpenAPI document of custom resources: %w", err)
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
