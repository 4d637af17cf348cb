package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestSelectInScope(t *testing.T) {
	const timers = "look at the whole cluster"
	some, second := runlocal.Scope{Namespaces: []string{"a"}}, runlocal.Scope{Shard: runlocal.Shard{Number: 2, Of: 2}}
	for _, row := range []struct {
		reason, list string
		scope        runlocal.Scope
		write        bool
		want, lines  string
		err          string
	}{
		{"the whole cluster", "deployment,csrcleaner,podgc", runlocal.Scope{}, true, "csrcleaner,deployment,podgc", "", ""},
		{"the first shard runs what works on the whole cluster", "deployment,csrcleaner,podgc", runlocal.Scope{Shard: runlocal.Shard{Number: 1, Of: 2}}, true, "csrcleaner,deployment,podgc", "", ""},
		{"the others do not", "deployment,csrcleaner,podgc", second, true, "deployment", "not here: csrcleaner, podgc, which " + timers + ": shard 1 runs them", ""},
		{"volumes are matched with all claims", "deployment,persistentvolume-binder", second, true, "deployment", "not here: persistentvolume-binder, which " + timers + ": shard 1 runs them", ""},
		{"and a shard that is the first does so", "deployment,persistentvolume-binder", runlocal.Scope{Shard: runlocal.Shard{Number: 1, Of: 2}}, true, "deployment,persistentvolume-binder", "", ""},
		{"some namespaces are not everything", "deployment,csrcleaner", some, true, "deployment", "not here: csrcleaner, which " + timers + ": a run without --namespaces has them", ""},
		{
			"of all, those with a danger are left out", "*,-podgc,-ttl,-taint-eviction,-device-taint-eviction,-node-lifecycle,-volumeattributesclass-protection", some, true,
			"garbagecollector is not there", "left out: garbagecollector, namespace: with --namespaces a they would not see all that they act on", "",
		},
		{"as well in a dry run: it is to show what writing would do", "*,-podgc", some, false, "garbagecollector is not there", "left out: ", ""},
		{"one that is named runs in a dry run", "garbagecollector,podgc", some, false, "garbagecollector,podgc", "", ""},
		{
			"and is refused, with advice, if it would write", "*,garbagecollector,namespace", second, true, "", "",
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
		rest, lines, err := selectInScope(row.scope, all, row.list, row.write)
		if got := oneText(err); got != row.err {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.err)
		}
		names := session.ShortNames(rest)
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

// oneText returns an error as it is printed, on one line.
func oneText(err error) string {
	if err == nil {
		return ""
	}
	var printed strings.Builder
	cli.PrintError(&printed, err)
	text := strings.TrimPrefix(strings.TrimSuffix(printed.String(), "\n"), "error: ")
	return strings.ReplaceAll(text, "\n", "; ")
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
