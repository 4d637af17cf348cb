package why

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// kubectl is the program that follows the advice: test/kubectl builds it. Without it the advice is only read.
var kubectl = flag.String("kubectl", "", "run the first command that changes something, of each situation, by this kubectl")

// advice is a command that changes something, as the words of a command line without the program and its namespace.
type advice struct {
	v1alpha1.Command
	verb string
	rest string
}

// adviceOf returns the commands of a cause that change something.
func adviceOf(commands []v1alpha1.Command) []advice {
	var out []advice
	for _, c := range commands {
		if !c.Changes {
			continue
		}
		text := strings.TrimPrefix(c.Command, "kubectl ")
		if after, ok := strings.CutPrefix(text, "-n "); ok {
			_, text, _ = strings.Cut(after, " ")
		}
		verb, rest, _ := strings.Cut(text, " ")
		if verb == "rollout" {
			second, further, _ := strings.Cut(rest, " ")
			verb, rest = verb+" "+second, further
		}
		out = append(out, advice{c, verb, rest})
	}
	return out
}

// isDrastic reports whether a command stops, deletes, undoes, unsuspends or untaints something.
func (a advice) isDrastic() bool {
	switch a.verb {
	case "delete", "rollout undo", "rollout pause", "drain", "cordon":
		return true
	case "taint":
		return strings.HasSuffix(a.rest, "-")
	case "scale":
		return strings.HasSuffix(a.rest, "--replicas=0")
	case "patch":
		return strings.Contains(a.rest, `"suspend":false`) || strings.Contains(a.rest, `"suspend":true`)
	}
	return false
}

// nodeTaint matches the keys of taints that the control plane sets itself, and sets again when they are removed.
var nodeTaint = regexp.MustCompile(`node\.kubernetes\.io/(not-ready|unreachable|[a-z]+-pressure|unschedulable|network-unavailable)`)

// badAdvice returns what is wrong with the commands of a cause by what they are: a drastic one comes before another,
// what the API does not allow, or what cannot help.
func badAdvice(c *diagnosis.Cause, commands []v1alpha1.Command) string {
	all := adviceOf(commands)
	last := -1
	for i, a := range all {
		if a.isDrastic() {
			last = i
		} else if last >= 0 {
			return fmt.Sprintf("%q comes before %q", all[last].Command.Command, a.Command.Command)
		}
		object, _, _ := strings.Cut(a.rest, " ")
		kind, _, _ := strings.Cut(object, "/")
		immutable := kind == "job" || kind == "pod" || kind == "controllerrevision"
		switch {
		case a.verb == "edit" && immutable:
			return fmt.Sprintf("%q: what is to be changed of it cannot be", a.Command.Command)
		case a.verb == "edit" && c.Type == inspect.Unschedulable && strings.HasSuffix(c.Detail, "PersistentVolume's node affinity."):
			return fmt.Sprintf("%q: the volume does not follow the pod", a.Command.Command)
		case a.verb == "taint" && nodeTaint.MatchString(c.Detail):
			return fmt.Sprintf("%q: the control plane sets it again", a.Command.Command)
		case a.verb == "edit" && kind == "resourcequota" && strings.Contains(c.Detail, "must specify"):
			return fmt.Sprintf("%q: no limit is too low", a.Command.Command)
		case a.verb == "create" && c.Type == inspect.JobStillActive:
			return fmt.Sprintf("%q: its policy allows no second Job", a.Command.Command)
		}
	}
	return ""
}

// words are what is written for the words in capitals of a command, so that it can be run.
var words = map[string]string{
	"IMAGE": "mended:2", "SIZE": "1Gi", "AMOUNT": "500m", "COUNT": "1", "NUMBER": "1000", "NAME": "by-hand",
	"SERVER": "registry.example.com", "USER": "jane", "PASSWORD": "x",
}

var capitals = regexp.MustCompile(`\b[A-Z]{3,}\b`)

// runnable returns the command line with its words in capitals filled in; empty if it has to be written by hand.
func (a advice) runnable(dir string) (string, error) {
	if a.verb == "edit" || strings.HasSuffix(a.Command.Command, "-f FILE") {
		return "", nil
	}
	file := filepath.Join(dir, "filled")
	if err := os.WriteFile(file, []byte("filled in"), 0o600); err != nil {
		return "", fmt.Errorf("writing a file to create from: %w", err)
	}
	line, unknown := a.Command.Command, false
	line = capitals.ReplaceAllStringFunc(line, func(word string) string {
		if word == "FILE" {
			return file
		}
		filled, ok := words[word]
		if word == "COUNT" && strings.Contains(line, "maxReplicas") {
			filled = "9"
		}
		unknown = unknown || !ok
		return filled
	})
	if unknown || strings.Contains(line, "create secret tls") { // which needs a certificate
		return "", nil
	}
	return line, nil
}

// follow runs the first command that changes something and can be run, of drastic ones only the very first, and returns what is wrong with what
// comes of it: it must be accepted, lose nothing, and leave the object converged or with another first cause. Where
// nothing acts on the objects, the last cannot be seen.
func (p *player) follow(ctx context.Context, t *testing.T) string {
	t.Helper()
	v, err := p.ask(ctx)
	if err != nil || len(v.diagnosis.Causes) == 0 {
		return fmt.Sprintf("it has no cause any more: %v", err)
	}
	first := v.diagnosis.Causes[0]
	var line string
	var followed advice
	for i, a := range adviceOf(v.commands.of(first)) {
		if i > 0 && (line != "" || a.isDrastic()) {
			break
		}
		if line, err = a.runnable(t.TempDir()); err != nil {
			return err.Error()
		}
		followed = a
	}
	if line == "" {
		return ""
	}
	kubeconfig, err := p.stage.serve(t)
	if err != nil {
		return err.Error()
	}
	before, err := p.kept(ctx)
	if err != nil {
		return err.Error()
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	path := filepath.Dir(*kubectl) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("%s: %v: %s", line, err, said)
	}
	t.Logf("followed: %s", line)
	if p.stage.controllers {
		if followed.verb == "set" && strings.HasPrefix(followed.rest, "image") { // a good one
			target := strings.Fields(followed.rest)[1]
			p.patch(ctx, t, action{Target: target, Patch: withoutFailures})
		}
		p.nudge(ctx, first.Node())
		if problem := p.helps(ctx, v.diagnosis); problem != "" {
			return line + ": " + problem
		}
	}
	after, err := p.kept(ctx)
	if err != nil {
		return err.Error()
	}
	for uid, name := range before {
		if after[uid] == "" {
			return line + ": " + name + " is lost"
		}
	}
	return ""
}

// nudge changes an object, so that its controller tries again at once, and not when its back-off has ended.
func (p *player) nudge(ctx context.Context, n *ownertree.Node) {
	resource := p.stage.client.Resource(n.Kind.GVR()).Namespace(n.Namespace)
	patch := []byte(`{"metadata":{"annotations":{"example.com/nudged":"true"}}}`)
	_, _ = resource.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}) // it may be gone: see helps
}

// withoutFailures is a patch for what has a pod template, of which simulated nodes then run the pods.
var withoutFailures = map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
	"annotations": map[string]any{"kubectl-reconcile.github.io/simulate": nil},
}}}}

// helps waits until the object has converged, another cause is named first, or what was to be deleted is gone.
func (p *player) helps(ctx context.Context, before *diagnosis.Diagnosis) string {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	said := identity(before.Causes[0])
	// What is asked for is gone when its deletion has ended, or when it is a failed pod that was cleared away.
	isDeletion := before.Status == inspect.Terminating || before.Causes[0].Type == inspect.PodFailed
	for {
		v, err := p.ask(ctx)
		switch {
		case err == nil && (v.diagnosis.Converged || len(v.diagnosis.Causes) > 0 && identity(v.diagnosis.Causes[0]) != said):
			return ""
		case err != nil && strings.HasPrefix(err.Error(), "no ") && isDeletion:
			return ""
		case ctx.Err() != nil:
			return "the cause is still " + said
		}
		wait(ctx)
	}
}

// identity is by what a cause is known again: a pod of the same owner shows the same.
func identity(c *diagnosis.Cause) string {
	of := c.Node()
	shown := of.Kind.Kind + "/" + of.Name
	if of.Kind.Kind == "Pod" && len(of.Owners) > 0 && of.Owners[0].Kind != "StatefulSet" {
		shown = "a pod of " + of.Owners[0].Name
	}
	refers := ""
	if c.Refers != nil {
		refers = c.Refers.Kind + "/" + c.Refers.Name + "/" + c.Refers.Key
	}
	return strings.Join([]string{string(c.Type), shown, c.Part, refers}, " ")
}

// kept lists what no advice may lose, by uid: all objects of the namespace, and the volumes of its claims, but pods and
// what controllers make for themselves.
func (p *player) kept(ctx context.Context) (map[types.UID]string, error) {
	kinds, err := cluster.Discover(ctx, p.stage.config)
	if err != nil {
		return nil, err
	}
	out := map[types.UID]string{}
	for _, kind := range kinds.Collected() {
		isVolume := kind.Kind == "PersistentVolume"
		switch kind.Kind {
		case "Pod", "ReplicaSet", "ControllerRevision", "Endpoints", "EndpointSlice", "Lease":
			continue
		}
		var resource dynamic.ResourceInterface = p.stage.client.Resource(kind.GVR())
		switch {
		case kind.Namespaced:
			resource = p.stage.client.Resource(kind.GVR()).Namespace(p.namespace)
		case !isVolume:
			continue
		}
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // another situation is that a part of the API does not answer
		}
		for i := range list.Items {
			obj := &list.Items[i]
			claimed, _, _ := unstructured.NestedString(obj.Object, "spec", "claimRef", "namespace")
			if isVolume && claimed != "" && claimed != p.namespace {
				continue // of another situation
			}
			if obj.GetDeletionTimestamp() == nil {
				out[obj.GetUID()] = kind.Kind + "/" + obj.GetName()
			}
		}
	}
	return out, nil
}

// TestDrastic: the rule of the corpus sees what it is for.
func TestDrastic(t *testing.T) {
	for _, row := range []struct {
		reason  string
		command string
		want    bool
	}{
		{"deleting", "kubectl -n shop delete pod web-0", true},
		{"going back", "kubectl -n shop rollout undo deployment/web", true},
		{"going on", "kubectl -n shop rollout resume deployment/web", false},
		{"unsuspending", `kubectl -n shop patch job/x --type merge -p '{"spec":{"suspend":false}}'`, true},
		{"untainting", "kubectl taint nodes NODE dedicated-", true},
		{"fewer", "kubectl -n shop scale deployment/web --replicas=COUNT", false},
		{"editing", "kubectl -n shop edit deployment/web", false},
	} {
		all := adviceOf([]v1alpha1.Command{{Command: row.command, Changes: true}})
		if got := all[0].isDrastic(); got != row.want {
			t.Errorf("%s: %v", row.reason, got)
		}
	}
}
