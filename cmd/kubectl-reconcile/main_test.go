package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/completion"
)

// TestMain lets the scripts run the real main, under the names that users and kubectl start it by.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kubectl-reconcile":                     main,
		"kubectl-debug_controllers":             main,
		completion.Prefix + "reconcile":         main,
		completion.Prefix + "debug_controllers": main,
		"reconcile-dev":                         main,
		"kube-apiserver":                        main,
		"etcd":                                  main,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams(t))
}

// scriptParams are how scripts are run.
func scriptParams(t *testing.T) testscript.Params {
	return testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":      start,
			"code":       code,
			"interrupt":  interrupt,
			"ends":       ends,
			"await":      await,
			"problems":   problems,
			"blocks":     blocks,
			"mode":       mode,
			"trace":      readTrace,
			"attributed": attributed,
			"serves": func(ts *testscript.TestScript, neg bool, args []string) {
				serves(t.Context(), ts, neg, args)
			},
			"occupy":     occupy,
			"exported":   exported,
			"binary":     binary,
			"deploy":     deploy,
			"atonce":     atOnce,
			"empty":      empty,
			"sameevents": sameEvents,
			"masked":     masked,
			"distrusted": distrusted,
			"aggregated": aggregated,
			"older":      older,
			"cut":        cut,
			"telemetry":  telemetryOf,
			"gate":       gateOf,
			"offers":     offers,
			"recorded":   recorded,
			"truncated":  truncated,
			"treemasked": treemasked,
			"treejson":   treejson,
			"document":   document,
			"graphviz":   graphviz,
			"recording":  recording,
			"requested": func(ts *testscript.TestScript, neg bool, args []string) {
				requested(t.Context(), ts, neg, args)
			},
			"apply": func(ts *testscript.TestScript, neg bool, args []string) {
				apply(t.Context(), ts, neg, args)
			},
			"inturn": func(ts *testscript.TestScript, neg bool, args []string) {
				applyInTurn(t.Context(), ts, neg, args)
			},
			"remove": func(ts *testscript.TestScript, neg bool, args []string) {
				remove(t.Context(), ts, neg, args)
			},
			"deployed": func(ts *testscript.TestScript, neg bool, args []string) {
				deployed(t.Context(), ts, neg, args)
			},
		},
	}
}

// setUp gives a script its own home directory, the manifest of README, and a place for the processes that it starts.
func setUp(env *testscript.Env) error {
	manifest, err := os.ReadFile("../../examples/web.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, "web.yaml"), manifest, 0o600); err != nil {
		return err
	}
	env.Setenv("HOME", env.WorkDir)
	started := processes{}
	env.Values[processesKey{}] = started
	env.Values[proxiesKey{}] = proxies{}
	env.Values[gatesKey{}] = gates{}
	env.Defer(started.killAll)
	return nil
}
