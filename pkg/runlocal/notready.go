package runlocal

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// Readiness is the state of the objects of a session, and explains why some are not ready.
type Readiness struct {
	// Applied are the objects that were applied, Created those that controllers created.
	Applied, Created []ObjectStatus
}

// Readiness reads the applied objects, and all other objects of the resources of which controllers created some. What
// could be read is returned with an error, too.
func (s *Session) Readiness(ctx context.Context, applied []Applied, created []schema.GroupVersionResource) (Readiness,
	error) {
	var r Readiness
	var errs [2]error
	r.Applied, errs[0] = s.Statuses(ctx, applied)
	r.Created, errs[1] = s.Others(ctx, created, applied)
	return r, errors.Join(errs[:]...)
}

// Late returns the applied objects that are late: see ObjectStatus.Late.
func (r Readiness) Late() []ObjectStatus {
	var out []ObjectStatus
	for _, s := range r.Applied {
		if s.Late() {
			out = append(out, s)
		}
	}
	return out
}

// FailedJob returns the first applied Job that has failed.
func (r Readiness) FailedJob() (job ObjectStatus, ok bool) {
	i := slices.IndexFunc(r.Applied, ObjectStatus.IsFailedJob)
	if i < 0 {
		return ObjectStatus{}, false
	}
	return r.Applied[i], true
}

// OnlyFailedJobs reports whether some applied objects are late, and all of them are Jobs that failed: more time would
// not help.
func (r Readiness) OnlyFailedJobs() bool {
	_, failed := r.FailedJob()
	return failed && !slices.ContainsFunc(r.Late(), func(s ObjectStatus) bool { return !s.IsFailedJob() })
}

// PodFailures returns the reasons why the pods of a Job failed, each once.
func (r Readiness) PodFailures(job ObjectStatus) []string {
	var out []string
	for _, s := range r.Created {
		owner := s.Controller
		ofJob := owner != nil && owner.Kind == job.Kind.Kind && owner.Name == job.Name && s.Namespace == job.Namespace
		if ofJob && s.Status.Status == inspect.Failed && s.Status.Reason != "" &&
			!slices.Contains(out, s.Status.Reason) {
			out = append(out, s.Status.Reason)
		}
	}
	return out
}

// LatePod returns the first created pod that is not as it should be.
func (r Readiness) LatePod() (pod ObjectStatus, ok bool) {
	i := slices.IndexFunc(r.Created, func(s ObjectStatus) bool { return s.Kind.Kind == "Pod" && !s.Status.Current() })
	if i < 0 {
		return ObjectStatus{}, false
	}
	return r.Created[i], true
}

// HasBlockedPod reports whether there is a pod that neither time nor another controller lets run: it has failed, or no
// node fits it.
func (r Readiness) HasBlockedPod() bool {
	return slices.ContainsFunc(slices.Concat(r.Applied, r.Created), func(s ObjectStatus) bool {
		return s.Kind.GroupKind() == schema.GroupKind{Kind: "Pod"} &&
			(s.Status.Status == inspect.Failed || strings.HasPrefix(s.Status.Reason, inspect.ReasonUnschedulable))
	})
}

// MissingControllers returns the short names of the controllers that do not run and without which a late object,
// applied or created, does not become ready.
func (r Readiness) MissingControllers(running []controllers.Controller) []string {
	var out []string
	for _, s := range slices.Concat(r.Applied, r.Created) {
		c, ok := controllers.For(s.Kind.GroupKind())
		if ok && s.Late() && !isRunning(running, c.Short) && !slices.Contains(out, c.Short) {
			out = append(out, c.Short)
		}
	}
	return out
}

// NoBuiltInLate reports whether none of the late applied objects is of a group that Kubernetes defines, whose
// controllers act on it.
func (r Readiness) NoBuiltInLate() bool {
	return !slices.ContainsFunc(r.Late(),
		func(s ObjectStatus) bool { return scheme.Scheme.IsGroupRegistered(s.Kind.Group) })
}

// IsFailedJob reports whether the object is a Job that failed: it will not become ready, however long it is waited for.
func (o ObjectStatus) IsFailedJob() bool {
	return o.Kind.GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"} && o.Status.Status == inspect.Failed
}

// UnhandledKind is a kind of objects that a controller creates, and on which no running controller acts.
type UnhandledKind struct {
	// Kinds is the plural that is used in prose, such as "ReplicaSets".
	Kinds string
	// Creator is the short name of the controller that creates them, Missing of the one that would act on them.
	Creator, Missing string
}

// UnhandledKinds returns the kinds that these controllers create and do not act on.
func UnhandledKinds(running []controllers.Controller) []UnhandledKind {
	var out []UnhandledKind
	for _, k := range []UnhandledKind{
		{Kinds: "ReplicaSets", Creator: "deployment", Missing: "replicaset"},
		{Kinds: "Jobs", Creator: "cronjob", Missing: "job"},
	} {
		if isRunning(running, k.Creator) && !isRunning(running, k.Missing) {
			out = append(out, k)
		}
	}
	return out
}

func isRunning(running []controllers.Controller, short string) bool {
	return slices.ContainsFunc(running, func(c controllers.Controller) bool { return c.Short == short })
}
