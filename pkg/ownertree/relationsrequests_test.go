package ownertree_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// TestRelateReadsOnce: however many objects refer to however many, each kind is listed once, and few are read by
// themselves.
func TestRelateReadsOnce(t *testing.T) {
	tests := []struct {
		reason     string
		scope      ownertree.Scope
		want       []string // the lists of full objects
		pods, most int
	}{
		{
			"of one namespace its lists", ownertree.Scope{Namespaces: []string{"namespace-1"}},
			[]string{
				"full /api/v1/namespaces/namespace-1/pods", "full /api/v1/namespaces/namespace-1/services",
				"full /apis/policy/v1/namespaces/namespace-1/poddisruptionbudgets",
			}, 50, 60,
		},
		{
			"of many namespaces those of all", ownertree.Scope{},
			[]string{"full /api/v1/pods", "full /api/v1/services", "full /apis/policy/v1/poddisruptionbudgets"}, 300, 20,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			s := forest(t, 450, 6)
			reader, kinds := s.open()
			g, err := ownertree.Collect(t.Context(), reader, kinds, tt.scope)
			if err != nil {
				t.Fatal(err)
			}
			clear(s.asked)
			relations, missing, err := g.Relate(t.Context(), reader, g.Nodes(), ownertree.RelateOptions{})
			if err != nil || len(missing) > 0 {
				t.Fatalf("incomplete: %v, %v", missing, err)
			}
			if want := tt.pods * 6; len(relations) != want { // account, node, mounts, reads, selected by, protected by
				t.Errorf("%d relations, want %d", len(relations), want)
			}
			var lists []string
			requests := 0
			for asked, times := range s.asked {
				requests += times
				if strings.HasPrefix(asked, "full ") {
					lists = append(lists, asked)
				}
				if times > 1 {
					t.Errorf("%s: asked for %d times", asked, times)
				}
			}
			slices.Sort(lists)
			if diff := cmp.Diff(tt.want, slices.DeleteFunc(lists, func(l string) bool { return strings.Contains(l, "serviceaccounts") })); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
			if requests > tt.most {
				t.Errorf("%d requests, want at most %d: %v", requests, tt.most, s.asked)
			}
		})
	}
}

// TestRelateIncomplete: what may not be read is reported, and is not taken for missing.
func TestRelateIncomplete(t *testing.T) {
	s := sharedShop(t)
	config := rest.CopyConfig(s.server.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return forbidding{next} })
	reader, err := cluster.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	s.reader = reader
	refs := []ownertree.Ref{s.ref("deployment", "web")}
	g, nodes := s.load(s.kinds(), ownertree.ScopeOf(refs, true), refs...)
	relations, incomplete, err := g.Relate(t.Context(), reader, below(nodes), ownertree.RelateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range incomplete {
		got = append(got, i.Resource+" in "+i.Namespace+": "+i.Reason)
	}
	want := []string{"secrets in shop: Forbidden", "ingresses in shop: Forbidden"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("incomplete (-want +got):\n%s", diff)
	}
	unread := 0
	for _, r := range relations {
		if r.To.Kind.Kind == "Secret" {
			unread++
			if !r.Unread || r.Missing {
				t.Errorf("%s: unread %t, missing %t", r.To.Name, r.Unread, r.Missing)
			}
		}
		if r.From.Kind.Kind == "Ingress" {
			t.Errorf("%s was found and may not be read", r.From.Name)
		}
	}
	if unread != 3 {
		t.Errorf("%d relations to secrets, want 3:\n%s", unread, strings.Join(relationLines(relations), "\n"))
	}
}

// forbidding is a server that lets absent read secrets and ingresses.
type forbidding struct{ next http.RoundTripper }

func (f forbidding) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/secrets") || strings.Contains(r.URL.Path, "/ingresses") {
		return forbidden(r), nil
	}
	return f.next.RoundTrip(r)
}

// TestRelateWithinANamespace: who may not list the bindings of all namespaces gets those of the account's own.
func TestRelateWithinANamespace(t *testing.T) {
	s := sharedShop(t)
	config := rest.CopyConfig(s.server.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return narrow{next} })
	reader, err := cluster.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	s.reader = reader
	g, nodes := s.load(s.kinds(), ownertree.Scope{Nothing: true}, s.ref("serviceaccount", "web"))
	relations, incomplete, err := g.Relate(t.Context(), reader, nodes, ownertree.RelateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(relationLines(relations), "\n")
	if want := "serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/web-reads"; !strings.Contains(lines, want) {
		t.Errorf("%s is not among\n%s", want, lines)
	}
	if len(incomplete) != 1 || incomplete[0].Resource != "rolebindings" || incomplete[0].Namespace != "" {
		t.Errorf("incomplete: %v, want the rolebindings of all namespaces", incomplete)
	}
}

// narrow is a server that lets absent list the bindings of all namespaces.
type narrow struct{ next http.RoundTripper }

func (n narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/v1/rolebindings") {
		return forbidden(r), nil
	}
	return n.next.RoundTrip(r)
}

func forbidden(r *http.Request) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}
