package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"
)

// kubectlVersion makes the kubectl under test say which version it is: it warns of version skew otherwise.
const kubectlVersion = "-X=k8s.io/component-base/version.gitVersion=v1.37.1"

// lastMoments is how long before the test's deadline every sandbox is interrupted, so that none outlives the test.
const lastMoments = 20 * time.Second

// programs is where the programs under test are built: in the project's directory for built files and not in a
// temporary one, so that go build has nothing to do when nothing changed.
const programs = "../../bin/test"

// pluginVariable names the file of the plugin under test, instead of one that is built.
const pluginVariable = "KUBECTL_RECONCILE"

func TestScripts(t *testing.T) {
	kubectl, plugin := buildPrograms(t)
	controllers, err := controllerNames(t.Context(), plugin)
	if err != nil {
		t.Fatal(err)
	}
	ctx := beforeDeadline(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setUp(ctx, env, kubectl, plugin) },
		Condition:           func(cond string) (bool, error) { return condition(cond, controllers) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shape": shape, "follow": follow, "awaits": awaits, "until": until,
		},
	})
}

// beforeDeadline returns the test's context, but done a little before the test's deadline.
func beforeDeadline(t *testing.T) context.Context {
	t.Helper()
	deadline, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-lastMoments))
	t.Cleanup(cancel)
	return ctx
}

// buildPrograms builds kubectl and the plugin, unless KUBECTL_RECONCILE names it, and returns their files.
func buildPrograms(t *testing.T) (kubectl, plugin string) {
	t.Helper()
	bin, err := filepath.Abs(programs)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, plugin = filepath.Join(bin, "kubectl"), os.Getenv(pluginVariable)
	var group errgroup.Group
	group.Go(func() error { return build(t.Context(), ".", bin, "k8s.io/kubernetes/cmd/kubectl", kubectlVersion) })
	if plugin == "" {
		plugin = filepath.Join(bin, "kubectl-reconcile")
		group.Go(func() error { return build(t.Context(), "../..", bin, "./cmd/kubectl-reconcile", "") })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return kubectl, plugin
}

// build builds one program of the module in dir into the directory bin.
func build(ctx context.Context, dir, bin, pkg, ldflags string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", ldflags, "-o", bin+string(filepath.Separator), pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// controllerNames asks the plugin for the controllers that it has, by the short ones of kube-controller-manager's
// names.
func controllerNames(ctx context.Context, plugin string) ([]string, error) {
	cmd := exec.CommandContext(ctx, plugin, "__complete", "sandbox", "--controller", "")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the plugin's controllers: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// condition makes a script's line depend on the sandbox having a controller: [controller:NAME].
func condition(cond string, controllers []string) (bool, error) {
	name, ok := strings.CutPrefix(cond, "controller:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	return slices.Contains(controllers, name), nil
}

// setUp gives a script its own home directory, the programs on PATH, and a sandbox that lives as long as the script
// does.
func setUp(ctx context.Context, env *testscript.Env, kubectl, plugin string) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return fmt.Errorf("making the script's home: %w", err)
	}
	env.Setenv("HOME", home)
	path := []string{filepath.Dir(plugin), filepath.Dir(kubectl), env.Getenv("PATH")}
	env.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
	kubeconfig := filepath.Join(env.WorkDir, "kubeconfig")
	env.Setenv("KUBECONFIG", kubeconfig)
	box, err := startSandbox(ctx, env.WorkDir, env.Vars, kubectl, kubeconfig)
	if err != nil {
		return err
	}
	env.Values[followersKey{}] = newFollowers(ctx, kubectl, env.WorkDir, env.Vars)
	env.Defer(func() {
		log, err := box.stop()
		env.T().Log("[sandbox]\n" + log)
		if err != nil {
			env.T().Log(err)
			env.T().FailNow()
		}
	})
	return nil
}

// furtherArguments reads the arguments that a script wants its sandbox to have, from the file sandbox.args, if it has
// one.
func furtherArguments(dir string) (string, error) {
	further, err := os.ReadFile(filepath.Join(dir, "sandbox.args"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the arguments of the sandbox: %w", err)
	}
	return string(further), nil
}
