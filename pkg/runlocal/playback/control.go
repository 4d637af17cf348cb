package playback

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// ControlPath is where the playback is steered, on the address of the API and for the same users:
//
//	GET  /playback                 Status
//	POST /playback/pause           and all that follow: Status afterwards
//	POST /playback/play
//	POST /playback/speed?value=2
//	POST /playback/step?n=1        n may be left out
//	POST /playback/seek?to=10:04   as replay.ParseMoment takes it, such as #120 or -30s
//
// Errors are text, with the status 400 for what makes no sense and 409 for what cannot be done now. It is for kubectl,
// too: `kubectl get --raw /playback`, `kubectl create --raw /playback/pause -f /dev/null`.
const ControlPath = "/playback"

// control returns next with what is at ControlPath.
func (s *Server) control(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ControlPath, func(w http.ResponseWriter, _ *http.Request) { s.answer(w) })
	for name, do := range map[string]func(r *http.Request) (code int, err error){
		"pause": func(*http.Request) (int, error) { s.Pause(); return 0, nil },
		"play":  func(*http.Request) (int, error) { return http.StatusConflict, s.Play() },
		"speed": s.controlSpeed,
		"step":  s.controlStep,
		"seek":  s.controlSeek,
	} {
		mux.HandleFunc("POST "+ControlPath+"/"+name, func(w http.ResponseWriter, r *http.Request) {
			if s.options.Uncontrolled != "" {
				http.Error(w, s.options.Uncontrolled, http.StatusConflict)
				return
			}
			if code, err := do(r); err != nil {
				http.Error(w, err.Error(), code)
				return
			}
			s.answer(w)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path == ControlPath || strings.HasPrefix(path, ControlPath+"/") {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(s.Status()) // a client that has gone needs no answer
}

func (s *Server) controlSpeed(r *http.Request) (int, error) {
	text := r.URL.Query().Get("value")
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return http.StatusBadRequest, fmt.Errorf("reading the speed %q: it must be a number", text)
	}
	return http.StatusBadRequest, s.SetSpeed(speed)
}

func (s *Server) controlStep(r *http.Request) (int, error) {
	n := 1
	if text := r.URL.Query().Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return http.StatusBadRequest, fmt.Errorf("reading the number of steps %q: it must be 1 or more", text)
		}
	}
	return http.StatusConflict, s.Step(r.Context(), n)
}

func (s *Server) controlSeek(r *http.Request) (int, error) {
	moment, err := replay.ParseMoment(r.URL.Query().Get("to"), s.info)
	if err != nil {
		return http.StatusBadRequest, err
	}
	return http.StatusBadRequest, s.Seek(r.Context(), moment)
}
