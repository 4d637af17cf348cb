package telemetry

import (
	"fmt"
	"net/http"
	"strings"
)

// Check is one of the things that readiness consists of.
type Check struct {
	// Name is what is checked, such as a controller.
	Name string
	// Problem says why it is not ready, in a few words; empty if it is.
	Problem string
}

// healthz answers that the process lives, which it does if it answers.
func healthz(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") }

// readyz answers as kube-apiserver's /readyz does: "ok", or a line for each check with ?verbose or when one fails.
func readyz(ready func() []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		checks := ready()
		status, end := http.StatusOK, "readyz check passed\n"
		var lines strings.Builder
		for _, c := range checks {
			if c.Problem == "" {
				fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
				continue
			}
			status, end = http.StatusServiceUnavailable, "readyz check failed\n"
			fmt.Fprintf(&lines, "[-]%s not ready: %s\n", c.Name, c.Problem)
		}
		if _, verbose := r.URL.Query()["verbose"]; status == http.StatusOK && !verbose {
			text(w, status, "ok\n")
			return
		}
		text(w, status, lines.String()+end)
	}
}

// text answers with plain text. Whoever asked may have gone.
func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, no-store, must-revalidate")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}
