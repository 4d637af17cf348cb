package plans

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// Player plays cases on a control plane. It may be used concurrently.
type Player struct {
	// Side is the control plane, whose Kubectl is that of Tools.
	Side *scenarios.Side
	// Audit is of the same control plane.
	Audit *Audit
	// Tools are the programs.
	Tools Tools
	// Keep is a folder to which plans are written, by the names of their cases; empty keeps none.
	Keep string
}

// Tools runs kubectl and the plugin as a user does.
type Tools struct {
	// Kubectl and Plugin are the programs, Kubeconfig says which cluster they talk to. Dir is a folder for files of
	// theirs.
	Kubectl, Plugin, Kubeconfig, Dir string
}

// Result is what came of a case.
type Result struct {
	Differences []Difference
	// Planned and Real are the writes of both, in their order, for people.
	Planned, Real []string
}

// Play makes the objects that the case begins with, has the plugin plan the change, makes the change, and compares.
func (p *Player) Play(ctx context.Context, c *Case) (*Result, error) {
	var plan *planned
	now := &actual{home: c.Name, audit: p.Audit}
	end, err := p.Side.PlayThen(ctx, &c.Scenario, func(ctx context.Context, begun scenarios.Played) error {
		made, err := p.plan(ctx, c, begun)
		if err != nil {
			return err
		}
		plan = newPlanned(c.Name, made, begun.Objects())
		begun.Record()
		now.begin = time.Now()
		if err := begun.Step(ctx, &c.Change); err != nil {
			return fmt.Errorf("making the change of %q: %w", c.Name, err)
		}
		if err := begun.Settle(ctx); err != nil {
			return err
		}
		now.versions = begun.Versions()
		return nil
	})
	if plan == nil || now.versions == nil {
		return nil, errors.Join(err, errors.New("nothing was changed"))
	}
	steps, _ := plan.writes()
	result := &Result{Planned: told(steps)}
	if err != nil {
		return result, err
	}
	now.requests = slices.DeleteFunc(end.Writes, func(w scenarios.Write) bool { return w.At.Before(now.begin) })
	written, err := now.writes()
	if err != nil {
		return result, err
	}
	result.Real = told(written)
	expected, done := accountOf(steps), accountOf(append(written, now.refusals()...))
	maps.DeleteFunc(expected, func(at string, _ []string) bool { return strings.HasPrefix(at, sizesOf) })
	for at, sizes := range plan.sizes() { // which the plan lists by itself
		expected[sizesOf+at] = sizes
	}
	result.Differences = compareAccounts(expected, done, c.Rules)
	final := &scenarios.Outcome{Objects: plan.objects(), Gone: end.Gone, Nodes: end.Nodes, Names: end.Names}
	result.Differences = append(result.Differences, compareObjects(final, end, c.Rules)...)
	if made := plan.plan.End; made != "settled" {
		result.Differences = append(result.Differences,
			Difference{At: "end", Planned: []string{made}, Real: []string{"settled"}})
	}
	return result, nil
}

// plan has the plugin plan the change.
func (p *Player) plan(ctx context.Context, c *Case, begun scenarios.Played) (*Plan, error) {
	objects, err := begun.Manifests(c.Change.Kubectl)
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"diff", "-o", "json", "--show-status"}, c.Change.Flags, c.PlanFlags)
	out, err := p.Tools.run(ctx, p.Tools.Plugin, c.Name, args, objects)
	// With 1 it says that there is something to do.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("planning the change of %q: %w", c.Name, err)
	}
	if p.Keep != "" {
		if err := os.WriteFile(filepath.Join(p.Keep, c.Name+".json"), out, 0o600); err != nil {
			return nil, fmt.Errorf("keeping the plan: %w", err)
		}
	}
	return ParsePlan(out)
}

// Prepare makes what all cases find beside nodes, the objects of testdata/cluster.yaml, and waits until they are ready.
func (t Tools) Prepare(ctx context.Context, file string) error {
	for _, args := range [][]string{
		{"apply", "-f", file},
		{"wait", "--for=condition=Established", "crd", "--all"},
		{"wait", "--for=condition=Ready", "nodes", "--all"},
		{"wait", "--for=jsonpath={.spec.taints[*].key}=example.com/own", "node", "-l", "pool=tainted"},
	} {
		cmd := exec.CommandContext(ctx, t.Kubectl, append(args, "--kubeconfig", t.Kubeconfig)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// Apply is scenarios.Side.Kubectl.
func (t Tools) Apply(
	ctx context.Context, namespace string, flags []string, objects []*unstructured.Unstructured,
) error {
	_, err := t.run(ctx, t.Kubectl, namespace, append([]string{"apply"}, flags...), objects)
	return err
}

// run runs a program with the objects as files on stdin, and returns what it prints to stdout. What it prints to stderr
// is in the error.
func (t Tools) run(
	ctx context.Context, program, namespace string, args []string, objects []*unstructured.Unstructured,
) ([]byte, error) {
	var in, out, said bytes.Buffer
	for _, object := range objects {
		data, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("writing a manifest: %w", err)
		}
		in.WriteString("---\n")
		in.Write(data)
	}
	kubeconfig, err := t.kubeconfig(namespace)
	if err != nil {
		return nil, err
	}
	args = append(args, "-f", "-", "--kubeconfig", kubeconfig)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(),
			fmt.Errorf("running %s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, said.String())
	}
	return out.Bytes(), nil
}

// kubeconfig is a file whose context has the namespace: with the flag --namespace kubectl refuses objects of others.
func (t Tools) kubeconfig(namespace string) (string, error) {
	config, err := clientcmd.LoadFromFile(t.Kubeconfig)
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	file := filepath.Join(t.Dir, namespace+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return file, nil
}

// told is a line for each write.
func told(writes []write) []string {
	var out []string
	for _, w := range writes {
		what := w.String()
		if w.onlyStatus() {
			what = "status"
		}
		if w.code > 0 {
			what += fmt.Sprintf(" %d", w.code)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%-12s %s %s", w.controller, w.object, what)))
	}
	return out
}
