package runlocal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestParseShard(t *testing.T) {
	for _, row := range []struct {
		reason, text string
		want         Shard
		err          string
	}{
		{"a part", "2/5", Shard{2, 5}, ""},
		{"all in one part", "1/1", Shard{1, 1}, ""},
		{"the last part", "1000/1000", Shard{1000, 1000}, ""},
		{"parts are numbered from 1", "0/5", Shard{}, "no part 0 of 5"},
		{"more than there are", "6/5", Shard{}, "no part 6 of 5"},
		{"less than none", "-1/5", Shard{}, "no part -1 of 5"},
		{"no parts", "1/0", Shard{}, "1 to 1000 parts, not 0"},
		{"more than makes sense", "1/1001", Shard{}, "not 1001"},
		{"no slash", "3", Shard{}, "such as 2/5"},
		{"no numbers", "a/b", Shard{}, "such as 2/5"},
		{"more than there should be", "1/2/3", Shard{}, "such as 2/5"},
		{"nothing", "", Shard{}, "such as 2/5"},
		{"larger than a number", "1/99999999999999999999", Shard{}, "such as 2/5"},
	} {
		s, err := ParseShard(row.text)
		if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%s: %q: %v, want %q", row.reason, row.text, err, row.err)
		}
		if s != row.want || row.err == "" && s.String() != row.text {
			t.Errorf("%s: %q became %q", row.reason, row.text, s.String())
		}
	}
}

// TestShardContains: every namespace is in one part, and always in the same one: runners of other versions must agree.
func TestShardContains(t *testing.T) {
	for namespace, want := range map[string]int{"default": 5, "shop": 3, "kube-system": 5, "a": 1, "b": 3, "c": 4, "blog": 2, "": 1} {
		var in []int
		for k := 1; k <= 5; k++ {
			if s := (Shard{k, 5}); s.Contains(namespace) {
				in = append(in, k)
			}
		}
		if diff := cmp.Diff([]int{want}, in); diff != "" {
			t.Errorf("%q (-want +got):\n%s", namespace, diff)
		}
	}
}

func TestShardsAreOfSimilarSize(t *testing.T) {
	const namespaces, parts = 5000, 7
	sizes := map[int]int{}
	for i := range namespaces {
		for k := 1; k <= parts; k++ {
			if s := (Shard{k, parts}); s.Contains(fmt.Sprintf("team-%d", i)) {
				sizes[k]++
			}
		}
	}
	for k := 1; k <= parts; k++ {
		if share := sizes[k] * parts; share < namespaces*8/10 || share > namespaces*12/10 {
			t.Errorf("part %d has %d of %d namespaces", k, sizes[k], namespaces)
		}
	}
}

// known returns controllers by their short names.
func known(t *testing.T, short ...string) []controllers.Controller {
	t.Helper()
	of, err := controllers.Select(short)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestScopeSeesAll(t *testing.T) {
	for _, row := range []struct {
		reason, controller string
		scope              Scope
		want               bool
	}{
		{"every controller sees the whole cluster", "garbagecollector", Scope{}, true},
		{"no danger in not seeing all", "deployment", Scope{Shard: Shard{1, 2}}, true},
		{"changes of objects are dropped that its graph is made of", "garbagecollector", Scope{Shard: Shard{1, 2}}, false},
		{"pods of other namespaces are bound to nodes without its knowledge", "nodelifecycle", Scope{Shard: Shard{1, 2}}, false},
		{"it looks at all nodes and pods that there are", "podgc", Scope{Shard: Shard{1, 2}}, true},
		{"it asks the API what a namespace has", "namespace", Scope{Shard: Shard{1, 2}}, true},
		{"lists have what is in these namespaces only", "podgc", Scope{Namespaces: []string{"a"}}, false},
	} {
		if got := row.scope.SeesAll(known(t, row.controller)[0]); got != row.want {
			t.Errorf("%s: %s with %+v sees all: %t", row.reason, row.controller, row.scope, got)
		}
	}
}
