package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestShardFlag(t *testing.T) {
	for _, row := range []struct {
		reason, text string
		want         shard
		err          string
	}{
		{"a part", "2/5", shard{2, 5}, ""},
		{"all in one part", "1/1", shard{1, 1}, ""},
		{"the last part", "1000/1000", shard{1000, 1000}, ""},
		{"parts are numbered from 1", "0/5", shard{}, "no part 0 of 5"},
		{"more than there are", "6/5", shard{}, "no part 6 of 5"},
		{"less than none", "-1/5", shard{}, "no part -1 of 5"},
		{"no parts", "1/0", shard{}, "1 to 1000 parts, not 0"},
		{"more than makes sense", "1/1001", shard{}, "not 1001"},
		{"no slash", "3", shard{}, "such as 2/5"},
		{"no numbers", "a/b", shard{}, "such as 2/5"},
		{"more than there should be", "1/2/3", shard{}, "such as 2/5"},
		{"nothing", "", shard{}, "such as 2/5"},
		{"larger than a number", "1/99999999999999999999", shard{}, "such as 2/5"},
	} {
		var s shard
		err := s.Set(row.text)
		if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%s: %q: %v, want %q", row.reason, row.text, err, row.err)
		}
		if s != row.want || row.err == "" && s.String() != row.text {
			t.Errorf("%s: %q became %q", row.reason, row.text, s.String())
		}
	}
}

// TestShards: every namespace is in one part, and always in the same one: runners of other versions must agree.
func TestShards(t *testing.T) {
	for namespace, want := range map[string]int{"default": 5, "shop": 3, "kube-system": 5, "a": 1, "b": 3, "c": 4, "blog": 2, "": 1} {
		var in []int
		for k := 1; k <= 5; k++ {
			if s := (shard{k, 5}); s.has(namespace) {
				in = append(in, k)
			}
		}
		if diff := cmp.Diff([]int{want}, in); diff != "" {
			t.Errorf("%q (-want +got):\n%s", namespace, diff)
		}
	}
}

func TestShardsAreAlike(t *testing.T) {
	const namespaces, parts = 5000, 7
	sizes := map[int]int{}
	for i := range namespaces {
		for k := 1; k <= parts; k++ {
			if s := (shard{k, parts}); s.has(fmt.Sprintf("team-%d", i)) {
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

// known are all controllers that run, by their short names.
func known(t *testing.T, short ...string) []controllers.Controller {
	t.Helper()
	of, err := controllers.Select(short)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestControllersOfParts(t *testing.T) {
	const timers = "look at the whole cluster"
	some, second := part{namespaces: []string{"a"}}, part{shard: shard{2, 2}}
	for _, row := range []struct {
		reason, list string
		part         part
		write        bool
		want, lines  string
		err          string
	}{
		{"the whole cluster", "deployment,csrcleaner,podgc", part{}, true, "csrcleaner,deployment,podgc", "", ""},
		{"the first part looks at everything by a timer", "deployment,csrcleaner,podgc", part{shard: shard{1, 2}}, true, "csrcleaner,deployment,podgc", "", ""},
		{"the others do not", "deployment,csrcleaner,podgc", second, true, "deployment", "not here: csrcleaner, podgc, which " + timers + ": shard 1 runs them", ""},
		{"volumes are matched with all claims", "deployment,persistentvolume-binder", second, true, "deployment", "not here: persistentvolume-binder, which " + timers + ": shard 1 runs them", ""},
		{"and a shard that is the first does so", "deployment,persistentvolume-binder", part{shard: shard{1, 2}}, true, "deployment,persistentvolume-binder", "", ""},
		{"some namespaces are not everything", "deployment,csrcleaner", some, true, "deployment", "not here: csrcleaner, which " + timers + ": a run without --namespaces has them", ""},
		{
			"of all, those with a danger are left out", "*,-podgc,-ttl,-taint-eviction,-device-taint-eviction,-node-lifecycle,-volumeattributesclass-protection", some, true,
			"garbagecollector is not there", "left out: garbagecollector, namespace: with --namespaces a they would not see all that they act on", "",
		},
		{"as well in a dry run: it is to show what writing would do", "*,-podgc", some, false, "garbagecollector is not there", "left out: ", ""},
		{"who names one may look at what it would do", "garbagecollector,podgc", some, false, "garbagecollector,podgc", "", ""},
		{
			"and is refused, with advice, who lets it write", "*,garbagecollector,namespace", second, true, "", "",
			"garbagecollector deletes objects whose owner it does not see: with --shard 2/2 not all is seen; hint: " +
				"--controller '*,namespace,-garbagecollector' leaves it out; without --write it runs in dry run",
		},
		{
			"several in one error", "podgc,garbagecollector,job", some, true, "", "",
			"garbagecollector deletes objects whose owner it does not see; podgc deletes pods whose node it does not see: " +
				"with --namespaces a not all is seen; hint: --controller job leaves them out; without --write they run in dry run",
		},
		{
			"one alone cannot be left out", "podgc", some, true, "", "",
			"podgc deletes pods whose node it does not see: with --namespaces a not all is seen; hint: without --write it runs in dry run",
		},
		{
			"none is left", "podgc", second, false, "", "",
			"--controller podgc leaves no controller to run with --shard 2/2; hint: not here: podgc, which " + timers + ": shard 1 runs them",
		},
	} {
		all, err := controllers.Select(strings.Split(row.list, ","))
		if err != nil {
			t.Fatal(err)
		}
		rest, lines, err := row.part.narrow(all, row.list, row.write)
		if got := oneText(err); got != row.err {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.err)
		}
		names := shortNames(rest)
		slices.Sort(names)
		if row.want == "garbagecollector is not there" {
			if slices.Contains(names, "garbagecollector") || !slices.Contains(names, "deployment") {
				t.Errorf("%s: %q run", row.reason, names)
			}
		} else if got := strings.Join(names, ","); got != row.want {
			t.Errorf("%s: %s run, want %s", row.reason, got, row.want)
		}
		if got := strings.Join(lines, "; "); !strings.HasPrefix(got, row.lines) || row.lines == "" && got != "" {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.lines)
		}
	}
}

// oneText is an error as it is printed, on one line.
func oneText(err error) string {
	if err == nil {
		return ""
	}
	var said strings.Builder
	cli.PrintError(&said, err)
	text := strings.TrimPrefix(strings.TrimSuffix(said.String(), "\n"), "error: ")
	return strings.ReplaceAll(text, "\n", "; ")
}

func TestSeesAll(t *testing.T) {
	for _, row := range []struct {
		reason, controller string
		part               part
		want               bool
	}{
		{"of the whole cluster everybody does", "garbagecollector", part{}, true},
		{"no danger in not seeing all", "deployment", part{shard: shard{1, 2}}, true},
		{"changes of objects are dropped that its graph is made of", "garbagecollector", part{shard: shard{1, 2}}, false},
		{"pods of other namespaces come to nodes unseen", "nodelifecycle", part{shard: shard{1, 2}}, false},
		{"it looks at all nodes and pods that there are", "podgc", part{shard: shard{1, 2}}, true},
		{"it asks the API what a namespace has", "namespace", part{shard: shard{1, 2}}, true},
		{"lists have what is in these namespaces only", "podgc", part{namespaces: []string{"a"}}, false},
	} {
		if got := row.part.seesAll(known(t, row.controller)[0]); got != row.want {
			t.Errorf("%s: %s with %s sees all: %t", row.reason, row.controller, row.part, got)
		}
	}
}
