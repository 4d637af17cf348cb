package compare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// rule is one sort of write that a controller makes.
type rule struct {
	resource schema.GroupResource
	verbs    []Verb
	// fields are prefixes of the paths that an update changes, of which there must be one; nil means any.
	fields []string
	// owner is the kind of the controller owner whose name, with the namespace, is the key. Empty means that the object
	// itself is the key, or that it is not known if anyKey is set.
	owner  string
	anyKey bool
	// namespaceKey means that the namespace of the object is the key.
	namespaceKey bool
	// when reports whether the controller has a reason for the write; nil means that it always may have one. It is
	// asked only where nothing else tells who wrote.
	when func(known, *change) bool
	// scale means that the write is made by the subresource scale.
	scale bool
	// only is a label with its value that the object must have; empty for none.
	only [2]string
}

var (
	anyUpdate   = []Verb{VerbUpdate}
	statusOnly  = []Verb{VerbUpdateStatus}
	createOnly  = []Verb{VerbCreate}
	deleteOnly  = []Verb{VerbDelete}
	wholeObject = []Verb{VerbCreate, VerbUpdate, VerbDelete}
)

func apps(resource string) schema.GroupResource {
	return schema.GroupResource{Group: "apps", Resource: resource}
}

func batch(resource string) schema.GroupResource {
	return schema.GroupResource{Group: "batch", Resource: resource}
}

func core(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }

// rulesOf returns what a controller writes, by its short name; nil for a controller whose writes are not told apart
// from those of others. It is what upstream's controllers do by their clients in pkg/controller of
// k8s.io/kubernetes, Events and Leases left out.
func rulesOf(controller string) []rule {
	switch controller {
	case "deployment":
		return deploymentRules()
	case "replicaset":
		return podOwnerRules(apps("replicasets"), "ReplicaSet", wantsFewerPods)
	case "replicationcontroller":
		return podOwnerRules(core("replicationcontrollers"), "ReplicationController", wantsFewerPods)
	case "statefulset":
		return slices.Concat(
			podOwnerRules(apps("statefulsets"), "StatefulSet", statefulSetDeletes),
			revisionRules("StatefulSet"),
			[]rule{
				{
					resource: core("pods"), verbs: anyUpdate, owner: "StatefulSet",
					fields: []string{"metadata.labels", "spec.volumes"},
				},
				{resource: core("persistentvolumeclaims"), verbs: createOnly, anyKey: true, when: isClaimOfSet},
				{
					resource: core("persistentvolumeclaims"), verbs: anyUpdate, anyKey: true, when: isClaimOfSet,
					fields: []string{"metadata.ownerReferences"},
				},
			})
	case "daemonset":
		return slices.Concat(
			podOwnerRules(apps("daemonsets"), "DaemonSet", daemonSetDeletes), revisionRules("DaemonSet"))
	case "job":
		return append(podOwnerRules(batch("jobs"), "Job", jobDeletes), rule{
			resource: core("pods"), verbs: anyUpdate, owner: "Job", fields: []string{"metadata.finalizers"},
		})
	case "cronjob":
		return []rule{
			{resource: batch("jobs"), verbs: createOnly, owner: "CronJob"},
			{resource: batch("jobs"), verbs: deleteOnly, owner: "CronJob", when: ownerStays},
			{resource: batch("cronjobs"), verbs: statusOnly},
		}
	case "ttl-after-finished":
		return []rule{{resource: batch("jobs"), verbs: deleteOnly, when: hasTTL}}
	case "endpointslice":
		return []rule{{
			resource: schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, verbs: wholeObject,
			owner: "Service", only: [2]string{"endpointslice.kubernetes.io/managed-by",
				"endpointslice-controller.k8s.io"},
		}}
	case "endpoint":
		return []rule{{resource: core("endpoints"), verbs: wholeObject}}
	case "disruption":
		return []rule{{
			resource: schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, verbs: statusOnly,
		}}
	case "horizontalpodautoscaling":
		return []rule{
			{
				resource: schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"},
				verbs:    statusOnly,
			},
			scaleRule(apps("deployments")), scaleRule(apps("replicasets")), scaleRule(apps("statefulsets")),
		}
	case "serviceaccount":
		return []rule{{
			resource: core("serviceaccounts"), verbs: createOnly, namespaceKey: true, when: isDefaultAccount,
		}}
	case "resourcequota":
		return []rule{{resource: core("resourcequotas"), verbs: statusOnly}}
	}
	return nil
}

// scaleRule is that of a controller that sets the number of replicas of another one's objects.
func scaleRule(resource schema.GroupResource) rule {
	return rule{resource: resource, verbs: anyUpdate, fields: []string{"spec.replicas"}, scale: true, anyKey: true}
}

func deploymentRules() []rule {
	return []rule{
		{resource: apps("replicasets"), verbs: createOnly, owner: "Deployment"},
		{resource: apps("replicasets"), verbs: deleteOnly, owner: "Deployment", when: isOldReplicaSet},
		{resource: apps("replicasets"), verbs: anyUpdate, owner: "Deployment", when: notOrphaned},
		{resource: apps("deployments"), verbs: statusOnly},
		{
			resource: apps("deployments"), verbs: anyUpdate,
			fields: []string{
				"metadata.annotations[deployment.kubernetes.io/", "metadata.annotations[deprecated.deployment.",
			},
		},
	}
}

// podOwnerRules are those of a controller that makes pods. It deletes them for the reasons of deletes.
func podOwnerRules(owner schema.GroupResource, kind string, deletes func(known, *change) bool) []rule {
	return []rule{
		{resource: core("pods"), verbs: createOnly, owner: kind},
		{resource: core("pods"), verbs: deleteOnly, owner: kind, when: deletes},
		{
			resource: core("pods"), verbs: anyUpdate, owner: kind, fields: []string{"metadata.ownerReferences"},
			when: notOrphaned,
		},
		{resource: owner, verbs: statusOnly},
	}
}

// revisionRules are those of a controller that keeps its history in ControllerRevisions.
func revisionRules(kind string) []rule {
	return []rule{
		{resource: apps("controllerrevisions"), verbs: []Verb{VerbCreate, VerbUpdate}, owner: kind},
		{resource: apps("controllerrevisions"), verbs: deleteOnly, owner: kind, when: ownerStays},
	}
}

// Compared returns the short names of the controllers whose writes can be told from those of others without a trace,
// sorted.
func Compared(controllers []string) []string {
	out := slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return rulesOf(name) == nil })
	slices.Sort(out)
	return out
}

// matches reports whether the change is of the rule's sort, its reason and its writer aside.
func (r *rule) matches(c *change) bool {
	if r.resource != c.resource || !slices.Contains(r.verbs, c.verb) {
		return false
	}
	if r.only[0] != "" && c.label(r.only[0]) != r.only[1] {
		return false
	}
	if r.owner != "" && c.owner(r.owner) == "" {
		return false
	}
	return r.fields == nil || c.verb != VerbUpdate || slices.ContainsFunc(c.paths(), func(path string) bool {
		return slices.ContainsFunc(r.fields, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
	})
}

// key returns the key of the controller's queue that the change belongs to; empty if it is not known.
func (r *rule) key(c *change) string {
	switch {
	case r.anyKey:
		return ""
	case r.namespaceKey:
		return c.namespace
	case r.owner != "":
		return joinKey(c.namespace, c.owner(r.owner))
	}
	return joinKey(c.namespace, c.name)
}

func joinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// namedObject returns the object that a key names; zero if it names none that is known. r.mu must be held.
func (r *run) namedObject(id keyID) trace.Object {
	kind, ok := keyKind(id.controller)
	if !ok || id.key == "" {
		return trace.Object{}
	}
	namespace, name, namespaced := strings.Cut(id.key, "/")
	if !namespaced {
		namespace, name = "", id.key
	}
	return trace.Object{
		Group: kind.Group, Resource: kind.Resource, Kind: kind.Kind, Namespace: namespace, Name: name,
	}
}

// keyKind returns the kind of the objects that the keys of a controller name, by its short name; false if they name
// none, or those of several kinds.
func keyKind(controller string) (controllers.ObjectKind, bool) {
	c, _ := controllers.ByShort(controller)
	if len(c.Keys) != 1 {
		return controllers.ObjectKind{}, false
	}
	return c.Keys[0], true
}
