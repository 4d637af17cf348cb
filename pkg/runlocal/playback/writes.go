package playback

import (
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// handler is put around what serves requests: first Options.Handler, then what notices the writes that it passes on.
func (s *Server) handler(next http.Handler) http.Handler {
	noticed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.options.Writable && isWrite(r) {
			s.notice()
		}
		next.ServeHTTP(w, r)
	})
	if s.options.Handler == nil {
		return s.control(noticed)
	}
	return s.control(s.options.Handler(noticed))
}

// isWrite reports whether a request may change what is served of the cluster.
func isWrite(r *http.Request) bool {
	info, ok := genericapirequest.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || slices.Contains([]string{"get", "list", "watch"}, info.Verb) {
		return false
	}
	return info.APIGroup != "authentication.k8s.io" && info.APIGroup != "authorization.k8s.io" &&
		!isOwn(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}) && r.URL.Query().Get("dryRun") == ""
}

// notice ends the playback: what was recorded after a write would contradict it.
func (s *Server) notice() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = true
	s.pause()
}
