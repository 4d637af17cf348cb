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

// ObjectKind is a kind of objects and its resource.
type ObjectKind struct{ Group, Kind, Resource string }

// GroupKind returns the group and kind.
func (k ObjectKind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// GroupResource returns the group and resource.
func (k ObjectKind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Controller is a row of the table. Its slices must not be changed.
type Controller struct {
	// Name is kube-controller-manager's, such as "replicaset-controller".
	Name string
	// Short is the name in the trace, such as "replicaset"; empty for a controller that does not run here.
	Short string
	// Aliases are the other names that kube-controller-manager takes for it.
	Aliases []string
	// Reads are the resources that it lists and watches; Writes those that it writes, Events left out. Both are empty
	// for a controller that does not run here.
	Reads, Writes []schema.GroupResource
	// Keys are the kinds of the objects that the keys of its queues name. They are nil if keys name something else, and
	// for controllers of which it has not been asked yet.
	Keys []ObjectKind
	// MakesReady is true if no object of the kinds Keys becomes ready without it.
	MakesReady bool
	// IndependentKeys is true if a reconcile depends on nothing but the object that its key names and what that owns,
	// and waits for nothing but the API server.
	IndependentKeys bool
	// Needs is what it needs beside a client and informers.
	Needs []Need
	// Danger is what it would destroy if it saw only a part of the cluster, such as "deletes pods whose node it does
	// not see"; empty if nothing.
	Danger string
	// ToleratesUnlistedKinds is true if it works without the kinds that cannot be discovered or listed, and destroys
	// nothing because it does not see them.
	ToleratesUnlistedKinds bool
	// ClusterScopedWork is true if it works on all namespaces at once, by a timer or for objects in no namespace. Of
	// several runs that divide the namespaces between them, only one runs it.
	ClusterScopedWork bool
	// NoisyLogMessages are messages that it logs, up to level 2, whenever it processes a key, and that tell no
	// decision. They are nil if there are none.
	NoisyLogMessages []string
	// OffByDefault is true if kube-controller-manager's "*" does not include it.
	OffByDefault bool
	// NotRun is why it does not run here; empty for those that do.
	NotRun string

	workers int // kube-controller-manager's default
	build   buildFunc
	// unmet is why the row stands for no controller: the error of Select for what ByName was to find.
	unmet error
	// missingAuthority returns why the controller cannot run with an authority, "" if it can; nil if it needs none.
	missingAuthority func(Authority) string
}

// Runs reports whether Start can run the controller.
func (c Controller) Runs() bool { return c.build != nil }

// Err returns why Start cannot run the controller: a *NotRunError, or the error of names that ByName could not meet. It
// is nil for those that run.
func (c Controller) Err() error {
	if c.unmet == nil && !c.Runs() {
		return &NotRunError{Name: c.Name, Reason: c.NotRun}
	}
	return c.unmet
}

// MissingAuthority returns why the controller cannot run with the authority a: what it would sign with or publish is
// not there. It returns "" if nothing is missing.
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
	// nodeControllers is Deps.NodeControllers.
	nodeControllers NodeControllerOptions
	// kinds is Deps.Kinds.
	kinds Kinds
	// newest, collector and listFailureTimeout are as in Deps.
	newest             func(schema.GroupResource) uint64
	collector          func(CollectorView)
	listFailureTimeout time.Duration
	// unread is Deps.Unread.
	unread []UnlistedKind
	// shared is the same for all controllers of one Start.
	shared *shared
}

// tapQueues makes the tap observe queues in private fields of a controller, whose keys are "namespace/name" already.
func (e environment) tapQueues(controller any, fields ...string) error {
	for _, field := range fields {
		if err := tap.SwapQueue(e.tap, controller, field, stringKey); err != nil {
			return err
		}
	}
	return nil
}

// changes returns Kinds.Changes; nil if kinds is nil.
func (e environment) changes() func() uint64 {
	if e.kinds == nil {
		return nil
	}
	return e.kinds.Changes
}

// runFunc runs a controller until the context ends, and returns when its workers have ended.
type runFunc func(ctx context.Context, workers int)

// buildFunc constructs a controller as kube-controller-manager does, and taps its queues.
type buildFunc func(ctx context.Context, e environment) (runFunc, error)

// All returns every controller of kube-controller-manager, those that do not run here included, sorted by name.
func All() []Controller {
	all := slices.Concat(running(), notRunning())
	slices.SortFunc(all, func(a, b Controller) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// names returns all names that the controller can be selected by: its name and aliases in kube-controller-manager, and
// its short name.
func (c Controller) names() []string {
	all := append([]string{c.Name}, c.Aliases...)
	if c.Short != "" && !slices.Contains(all, c.Short) {
		all = append(all, c.Short)
	}
	return all
}

// stringKey is the text of a key that is "namespace/name" already.
func stringKey(key string) string { return key }
