package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// lacking are the needs without which the controllers cannot work.
func (a *admission) lacking() []access.Need {
	var out []access.Need
	for _, n := range a.missing {
		if !n.Optional && (a.run.options.Write || n.IsRead()) {
			out = append(out, n)
		}
	}
	return out
}

// permission is the error of what the user may not do. The roles that would let them are printed, but not on a terminal, which
// they would fill.
func (a *admission) permission(out *outputs) error {
	lacking := a.lacking()
	if len(lacking) == 0 {
		return nil
	}
	text := "no permission to " + rightsText(lacking)
	if who := controllersOf(lacking); len(who) > 0 {
		text += ", which " + cli.Enumerate(who) + " " + cli.PluralOf(len(who), "needs", "need")
	}
	give := lacking
	if a.run.options.Write {
		give = a.missing
	}
	printed, err := out.manifest(access.Roles(give, a.user))
	if err != nil {
		return err
	}
	hints := []string{"what is printed gives " + a.user.Username + " these rights, for whoever may: `kubectl apply -f -`"}
	if !printed {
		hints[0] = "the same command with `>roles.yaml` writes roles that give " + a.user.Username + " these rights; whoever may has to apply them"
	}
	if len(give) < len(a.missing) {
		hints = append(hints, "trying the writes on the server needs "+cli.Plural(len(a.missing)-len(give), "more right")+", --dry-run=client none")
	}
	if rest := a.rest(lacking); rest != "" {
		hints = append(hints, rest+" needs none of them")
	}
	return cli.WithHint(errors.New(text), strings.Join(hints, "; "))
}

// rest is --controller without those which lack something; empty if none is left, or if they are many.
func (a *admission) rest(lacking []access.Need) string {
	who := controllersOf(lacking)
	if len(who) > mostNamed {
		return ""
	}
	return controllerFlag(a.run.list, slices.DeleteFunc(slices.Clone(a.run.options.Controllers), func(c controllers.Controller) bool {
		return !slices.Contains(who, c.Short)
	}))
}

// controllersOf are those that need something.
func controllersOf(needs []access.Need) []string {
	var who []string
	for _, n := range needs {
		who = append(who, n.Controllers...)
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// mostRights is how many rights are told in words; the roles have them all.
const mostRights = 4

// rightsText is "list pods, update deployments.apps/status and 3 more".
func rightsText(needs []access.Need) string {
	var texts []string
	for _, n := range needs {
		texts = append(texts, n.String())
	}
	if more := len(texts) - mostRights; more > 0 {
		return strings.Join(texts[:mostRights], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, ", ")
}

// warnOfWrites tells of what a dry run on the server will be refused, as a write would be.
func (a *admission) warnOfWrites(out *outputs) {
	var events, writes []access.Need
	for _, n := range a.missing {
		if n.Optional {
			events = append(events, n)
		} else {
			writes = append(writes, n)
		}
	}
	if len(writes) > 0 {
		out.warn("no permission to " + rightsText(writes) + ": the server refuses to try these writes")
		out.tell("hint: --dry-run=client sends none")
	}
	if len(events) > 0 && a.run.options.Write {
		out.warn("no permission to " + rightsText(events) + ": no Events will tell of what the controllers do")
	}
}

// manifest prints objects for kubectl apply, and reports whether it has: on a terminal it does not.
func (out *outputs) manifest(objects []runtime.Object) (bool, error) {
	to := out.out
	if out.notes != out.out {
		to = out.notes // stdout is the trace's
	}
	if render.IsTerminal(to) {
		return false, nil
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return false, fmt.Errorf("encoding a role: %w", err)
		}
		if _, err := fmt.Fprintf(to, "---\n%s", text); err != nil {
			return false, fmt.Errorf("printing a role: %w", err)
		}
	}
	return true, nil
}
