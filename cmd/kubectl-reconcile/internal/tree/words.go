package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// countsByKind is "Pod (3), ReplicaSet"; empty for none.
func countsByKind(counts map[string]int) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[kind]; n > 1 {
			kind = fmt.Sprintf("%s (%d)", kind, n)
		}
		out = append(out, kind)
	}
	return strings.Join(out, ", ")
}

// fewNames is how many folded objects are named.
const fewNames = 4

// namesOf names a few objects, what their names begin with alike only once: web-7d4b9c-8x2lp, -c7tqd.
func namesOf(all []*limb) string {
	if len(all) > fewNames {
		return ""
	}
	names := make([]string, 0, len(all))
	for _, l := range all {
		names = append(names, l.Node.Name)
	}
	slices.Sort(names)
	return strings.Join(shortened(names), ", ")
}

// shortened leaves out, in all names but the first, the words that all names begin with.
func shortened(names []string) []string {
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	cut := strings.LastIndex(common, "-")
	if cut < 1 {
		return names
	}
	out := []string{names[0]}
	for _, name := range names[1:] {
		out = append(out, name[cut:])
	}
	return out
}

// containerItem is the line of a container of a pod.
func containerItem(pod *ownertree.Node, c inspect.Container) *render.TreeItem {
	kind := c.Type
	if kind != inspect.MainContainer {
		kind += " container"
	}
	item := &render.TreeItem{
		Namespace: pod.Namespace, Label: kind + "/" + c.Name, Status: containerState(c), Tone: containerTone(c),
	}
	why := []string{c.Reason}
	if c.ExitCode != nil && c.State == "terminated" {
		why = append(why, fmt.Sprintf("exit code %d", *c.ExitCode))
	}
	if c.Restarts > 0 {
		why = append(why, cli.Plural(int(c.Restarts), "restart"))
	}
	if c.LastReason != "" && c.State != "terminated" {
		why = append(why, "last end: "+c.LastReason)
	}
	why = append(why, c.Image)
	item.Reason = strings.Join(slices.DeleteFunc(why, func(s string) bool { return s == "" }), ", ")
	return item
}

func containerState(c inspect.Container) string {
	if c.State == "" {
		return "not reported"
	}
	if c.State == "running" && !c.Ready && c.Type != inspect.InitContainer && c.Type != inspect.EphemeralContainer {
		return "running, not ready"
	}
	return c.State
}

func containerTone(c inspect.Container) render.Tone {
	failed := c.ExitCode != nil && *c.ExitCode != 0
	switch c.State {
	case "running":
		if c.Ready || c.Type == inspect.InitContainer || c.Type == inspect.EphemeralContainer {
			return render.TonePlain
		}
		return render.ToneChange
	case "terminated":
		if failed {
			return render.ToneTrouble
		}
		return render.TonePlain
	case "waiting":
		if failed || strings.HasSuffix(c.Reason, "BackOff") || strings.HasPrefix(c.Reason, "Err") {
			return render.ToneTrouble
		}
	}
	return render.ToneChange
}
