package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// hasFailed reports whether an object will not get where its spec wants it any more, whatever time it has: a Job that
// failed.
func hasFailed(s runlocal.ObjectStatus) bool {
	return s.Kind.GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"} && s.Status.Status == inspect.Failed
}

// onlyFailed reports whether the objects that are not ready are all such that have failed, and there are some.
func (r *result) onlyFailed() bool {
	others := func(s runlocal.ObjectStatus) bool { return s.Late() && !hasFailed(s) }
	return slices.ContainsFunc(r.objects, hasFailed) && !slices.ContainsFunc(r.objects, others)
}

// lateText is the state of an object that is not ready, and why.
func (r *result) lateText(s runlocal.ObjectStatus) string {
	if !hasFailed(s) {
		reason := strings.TrimPrefix(s.Status.Reason, s.Status.Status+": ")
		text := fmt.Sprintf("%s is %s: %s", s, s.Status.Status, reason)
		return strings.TrimSuffix(text, ": ")
	}
	why := s.Status.Reason
	if ends := r.endsOf(s); ends != nil {
		why, _, _ = strings.Cut(why, ": ")
		why += " (" + strings.Join(ends, ", ") + ")"
	}
	return failedText(s) + ": " + why
}

// failedText is such as "job flaky failed".
func failedText(s runlocal.ObjectStatus) string {
	return strings.ToLower(s.Kind.Kind) + " " + s.Name + " failed"
}

// isOfKubernetes reports whether an object is of a group that Kubernetes defines, and its controllers act on.
func isOfKubernetes(s runlocal.ObjectStatus) bool {
	return scheme.Scheme.IsGroupRegistered(s.Kind.Group)
}

// endsOf are the reasons why the pods of a Job failed, each once.
func (r *result) endsOf(job runlocal.ObjectStatus) []string {
	var out []string
	for _, s := range r.made {
		owner := s.Controller
		its := owner != nil && owner.Kind == job.Kind.Kind && owner.Name == job.Name && s.Namespace == job.Namespace
		if its && s.Status.Status == inspect.Failed && s.Status.Reason != "" {
			out = cli.AppendNew(out, s.Status.Reason)
		}
	}
	return out
}

// lateHint says what a run whose objects are not ready may lack; empty if nobody knows.
func (r *result) lateHint(o *Options) string {
	if missing := r.notRunning(o.controllers()); missing != nil {
		return cli.Enumerate(missing) + " " + cli.PluralOf(len(missing), "does", "do") + " not run: name " + cli.PluralOf(len(missing), "it", "them") + " in --controller too"
	}
	switch next := r.next(); {
	case r.outcome == timedOut:
		return "--timeout gives it more time"
	case o.Session.Nodes == 0:
		return "without nodes all pods stay pending: --nodes gives it some"
	case next != nil && time.Duration(next.In) <= o.timeout:
		reaches := (r.elapsed + time.Duration(next.In) + 5*time.Second).Truncate(5 * time.Second)
		return fmt.Sprintf("--timeout %s reaches the next key, %s %s", reaches, next.Controller, next.Key)
	case len(r.made) > 0:
		return "" // the controllers did their part
	case !slices.ContainsFunc(r.objects, func(s runlocal.ObjectStatus) bool { return s.Late() && isOfKubernetes(s) }):
		return "no controller of Kubernetes acts on it: its own can, against `sandbox`"
	}
	return "it may need a controller that --controller does not name: `run --list` shows them all"
}

// next is the key that would have come back first; nil if none would.
func (r *result) next() *pendingKey {
	if len(r.pending) == 0 {
		return nil
	}
	return &r.pending[0]
}

// notRunning are the controllers without which an object, applied or made, gets no status, and that do not run.
func (r *result) notRunning(running []controllers.Controller) []string {
	var out []string
	for _, s := range slices.Concat(r.objects, r.made) {
		name := controllerOf(s.Kind.GroupKind())
		if name != "" && s.Late() && !runsHere(running, name) {
			out = cli.AppendNew(out, name)
		}
	}
	return out
}

func runsHere(running []controllers.Controller, short string) bool {
	return slices.ContainsFunc(running, func(c controllers.Controller) bool { return c.Short == short })
}

// unattended returns a line for each controller that runs without the one that acts on what it makes.
func unattended(running []controllers.Controller) []string {
	var out []string
	for _, pair := range []struct{ maker, makes, acts string }{
		{"deployment", "ReplicaSets", "replicaset"}, {"cronjob", "Jobs", "job"},
	} {
		if runsHere(running, pair.maker) && !runsHere(running, pair.acts) {
			const text = "hint: nothing acts on the %s that %s makes: %s does not run"
			out = append(out, fmt.Sprintf(text, pair.makes, pair.maker, pair.acts))
		}
	}
	return out
}

// controllerOf is the short name of the controller that brings objects of a kind to what they are to be; empty for kinds that
// none does.
func controllerOf(kind schema.GroupKind) string {
	switch kind.String() {
	case "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "CronJob.batch", "ReplicationController":
		return strings.ToLower(kind.Kind)
	case "HorizontalPodAutoscaler.autoscaling":
		return "horizontalpodautoscaling"
	case "PodDisruptionBudget.policy":
		return "disruption"
	case "PersistentVolumeClaim", "PersistentVolume":
		return "persistentvolume-binder"
	}
	return ""
}

// dueNext tells of the key that would have come next, in a headline; empty if there is none.
func (r *result) dueNext() string {
	next := r.next()
	if next == nil {
		return ""
	}
	return fmt.Sprintf("; the next key, %s %s, is due in %s", next.Controller, next.Key, render.Round(next.In))
}

// notWell names the objects that are not as they should be although nothing is left to do, if they are few.
func (r *result) notWell() string {
	var names []string
	for _, s := range r.objects {
		if s.Late() {
			names = append(names, s.String()+" "+s.Status.Status)
		}
	}
	if names == nil {
		return ""
	}
	text := fmt.Sprintf(", but %s not ready: ", cli.Plural(len(names), "object")+cli.PluralOf(len(names), " is", " are"))
	if more := len(names) - mostReached; more > 0 {
		return text + strings.Join(names[:mostReached], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return text + strings.Join(names, ", ")
}
