package controllers

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Need is something that a controller needs beside a client and informers of typed objects.
type Need string

// What controllers need.
const (
	NeedsMetadata Need = "metadata client"
	NeedsMapper   Need = "REST mapper"
	NeedsScale    Need = "scale client"
)

// Controller is a row of the table. Its slices must not be changed.
type Controller struct {
	// Name is kube-controller-manager's, such as "replicaset-controller".
	Name string
	// Short is the name in the trace, such as "replicaset"; empty for a controller that does not run here.
	Short string
	// Aliases are the other names that kube-controller-manager takes for it.
	Aliases []string
	// Reads are the resources that it lists and watches; Writes those that it writes, Events left out. Both are empty for
	// a controller that does not run here.
	Reads, Writes []schema.GroupResource
	// Needs is what it needs beside a client and informers.
	Needs []Need
	// Danger says what it would destroy if it saw only a part of the cluster; empty if nothing.
	Danger string
	// ToleratesUnlistedKinds reports that it does without the kinds that it cannot know or list, and destroys nothing because of them.
	ToleratesUnlistedKinds bool
	// ClusterScopedWork says that it looks at all namespaces at once, by a timer or for objects in none: of runs that divide the
	// namespaces between them one runs it, for all.
	ClusterScopedWork bool
	// NoisyLogMessages are the messages that it logs when it looks at a key, up to level 2, and that are no decision; nil if it
	// logs none.
	NoisyLogMessages []string
	// OffByDefault says that kube-controller-manager's "*" leaves it out.
	OffByDefault bool
	// NotRun is why it does not run here; empty for those that do.
	NotRun string

	workers int // kube-controller-manager's default
	build   buildFunc
	// missingAuthority says what of the authority that it needs is missing; nil for a controller that needs none.
	missingAuthority func(Authority) string
}

// Runs reports whether Start can run the controller.
func (c Controller) Runs() bool { return c.build != nil }

// MissingAuthority says what the controller would need of the authority and does not find there, empty if nothing. It does not run
// then.
func (c Controller) MissingAuthority(a Authority) string {
	if c.missingAuthority == nil {
		return ""
	}
	return c.missingAuthority(a)
}

// environment is what a controller is built from.
type environment struct {
	tap       *tap.Controller
	config    *rest.Config // of the controller's clients
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	authority Authority
	// autoscaling is Deps.Autoscaling.
	autoscaling Autoscaling
	// nodeControllers is Deps.Hosts.
	nodeControllers NodeControllerOptions
	// discoverKinds is Deps.Kinds.
	kinds Kinds
	// newest, collector and unlistedAfter are as in Deps.
	newest             func(schema.GroupResource) uint64
	collector          func(CollectorView)
	listFailureTimeout time.Duration
	// shared is one for all controllers.
	shared *shared
}

// changes is Kinds.Changes; nil if that is not known.
func (e environment) changes() func() uint64 {
	if e.kinds == nil {
		return nil
	}
	return e.kinds.Changes
}

// run runs a controller until the context ends, and returns when its workers have.
type runFunc func(ctx context.Context, workers int)

// buildFunc constructs a controller as kube-controller-manager does, and taps its queues.
type buildFunc func(ctx context.Context, e environment) (runFunc, error)

// All returns every controller of kube-controller-manager, those that do not run here included, sorted by name.
func All() []Controller {
	all := slices.Concat(running(), notRunning())
	slices.SortFunc(all, func(a, b Controller) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// names are all that the controller is called by: as in kube-controller-manager, and the short name where that has no
// such alias.
func (c Controller) names() []string {
	all := append([]string{c.Name}, c.Aliases...)
	if c.Short != "" && !slices.Contains(all, c.Short) {
		all = append(all, c.Short)
	}
	return all
}

// stringKey spells the key of a queue of namespace/name.
func stringKey(key string) string { return key }
