package ownertree_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// TestRelateReadsOnce: however many objects refer to however many, each kind is listed once, and few are read by themselves.
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
