package apidiff

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

// TestPlay plays a file against two servers that count: one says so in other words.
func TestPlay(t *testing.T) {
	file, err := parseFile("10-a", []byte(`
about: a
steps:
- {name: first, path: "/count/{{ns}}", save: {count: .n}}
- {name: until, path: /count/x, until: {path: .n, value: 5}}
- {name: warned, path: /warned, until: {warned: true}}
- {name: send, method: POST, path: "/echo?n={{count}}", type: text/plain, raw: "n is {{count}}"}
- {name: anonymous, path: /who, headers: {Authorization: ""}}
- {name: watch, method: WATCH, path: /stream, events: 2}
- {name: ended, method: WATCH, path: /stream, ended: true}
- {name: meanwhile, method: WATCH, path: /live, events: 1, meanwhile: {method: POST, path: /news}}
- {name: refused meanwhile, method: WATCH, path: /live, events: 1, meanwhile: {method: POST, path: /missing}}
- {name: short, method: WATCH, path: /stream, events: 4}
- {name: setup, path: /who, setup: true}
- {name: kept, path: /different, keep: [.a]}
- {name: not as expected, path: /missing}
`))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ParseMeant([]byte(`[{step: 10-a/anonymous, path: body, reason: r}]`))
	if err != nil {
		t.Fatal(err)
	}
	suite := &Suite{Real: counting(t, "real"), Embedded: counting(t, "embedded"), Meant: lines}
	results, err := suite.Play(t.Context(), []File{*file})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Outcome{}
	for _, step := range results[0].Steps {
		got[step.ID] = step.Outcome
	}
	want := map[string]Outcome{
		"10-a/first": Same, "10-a/until": Same, "10-a/warned": Same, "10-a/send": Same, "10-a/anonymous": MeantTo, "10-a/watch": Same, "10-a/ended": Same,
		"10-a/meanwhile": Same, "10-a/refused meanwhile": Same, "10-a/short": Same, "10-a/kept": Same, "10-a/not as expected": Same,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	var problems []string
	for _, problem := range results[0].Problems {
		problems = append(problems, strings.TrimSpace(problem.Error()))
	}
	if diff := cmp.Diff([]string{
		`10-a/refused meanwhile: sending POST "/missing" meanwhile: answered 404: 404 page not found`,
		"10-a/short: ended by the server",
		"10-a/not as expected: answered 404, which the file does not expect: null",
	}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	sum := Sum(results, lines)
	if sum.Counts() != (report.Counts{Same: 11, Meant: 1}) || sum.Rows[0].Counts != sum.Counts() {
		t.Errorf("counts are %+v, of the file %+v", sum.Counts(), sum.Rows[0].Counts)
	}
}

// counting is a server that answers in JSON, and that makes namespaces and accounts as the harness needs them.
func counting(t *testing.T, name string) *Side {
	t.Helper()
	n := 0
	mux := http.NewServeMux()
	answer := func(pattern, text string, args func(r *http.Request) []any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, text, args(r)...)
		})
	}
	nothing := func(*http.Request) []any { return nil }
	answer("POST /api/v1/namespaces", "{}", nothing)
	answer("POST /api/v1/namespaces/10-a/serviceaccounts", "{}", nothing)
	answer("/count/", `{"n": %d}`, func(*http.Request) []any { n++; return []any{n} })
	answer("/who", `"%s, %s"`, func(r *http.Request) []any { return []any{name, r.Header.Get("Authorization")} })
	answer("/stream", `{"e": 1}{"e": 2}{"e": 3}`, nothing)
	mux.HandleFunc("/warned", func(w http.ResponseWriter, _ *http.Request) {
		if n++; n > 8 {
			w.Header().Set("Warning", `299 - "eight are enough"`)
		}
		fmt.Fprint(w, "{}")
	})
	news := make(chan struct{}, 1)
	answer("POST /news", "{}", func(*http.Request) []any { news <- struct{}{}; return nil })
	mux.HandleFunc("/live", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		select {
		case <-news:
			fmt.Fprint(w, `{"e": "news"}`)
		case <-r.Context().Done():
		}
	})
	answer("/different", `{"a": 1, "name": "%s"}`, func(*http.Request) []any { return []any{name} })
	answer("/echo", `%q`, func(r *http.Request) []any {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return []any{r.URL.RawQuery + " " + string(body) + " " + r.Header.Get("Content-Type")}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	side, err := NewSide(name, &rest.Config{Host: server.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	return side
}
