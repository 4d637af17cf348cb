package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// lateHint says what a run whose objects are not ready may lack; empty if nobody knows.
func (r *result) lateHint(o *runOptions) string {
	if missing := r.notRunning(o.controllers()); missing != nil {
		return enumerate(missing) + " " + pluralOf(len(missing), "does", "do") + " not run: name " + pluralOf(len(missing), "it", "them") + " in --controller too"
	}
	switch next := r.next(); {
	case r.outcome == timedOut:
		return "--timeout gives it more time"
	case o.session.Nodes == 0:
		return "without nodes all pods stay pending: --nodes gives it some"
	case next != nil && time.Duration(next.In) <= o.timeout:
		reaches := (r.elapsed + time.Duration(next.In) + 5*time.Second).Truncate(5 * time.Second)
		return fmt.Sprintf("--timeout %s reaches the next key, %s %s", reaches, next.Controller, next.Key)
	case len(r.made) > 0:
		return "" // the controllers did their part
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

// notRunning are the controllers without which an object that was applied gets no status, and that do not run.
func (r *result) notRunning(running []controllers.Controller) []string {
	var out []string
	for _, s := range r.objects {
		name := controllerOf(s.Kind.GroupKind())
		runs := func(c controllers.Controller) bool { return c.Short == name }
		if name != "" && s.Late() && !slices.ContainsFunc(running, runs) {
			out = appendNew(out, name)
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
	text := fmt.Sprintf(", but %s not ready: ", plural(len(names), "object")+pluralOf(len(names), " is", " are"))
	if more := len(names) - mostReached; more > 0 {
		return text + strings.Join(names[:mostReached], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return text + strings.Join(names, ", ")
}
