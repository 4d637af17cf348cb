package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// DefaultMaxObjects is Options.MaxObjects if that is 0: about 100 MB of JSON.
const DefaultMaxObjects = 20_000

// Options say what Read reads. Reader, Kinds and a scope (Namespaces, AllNamespaces or Roots) must be set.
type Options struct {
	// Reader reads the cluster, and Kinds are those that it serves.
	Reader *cluster.Reader
	Kinds  *cluster.Kinds
	// Namespaces are copied whole; with AllNamespaces all are.
	Namespaces    []string
	AllNamespaces bool
	// Roots are objects that must be there. The namespaces that they are in, or that they are, are copied whole, and so
	// are those that are in no namespace. What such an object owns is copied only as far as it is in these namespaces.
	Roots []Root
	// Related, if it is not empty, restricts the pods of the namespaces, and what makes pods, to those that the plan
	// for these objects needs: see related.go. The others count as Copy.Neighbours, as far as they are pods on copied
	// nodes. All are copied with AllNamespaces, if a namespace has a quota or is being deleted, and for objects of
	// other kinds than workloads and some that affect workloads by labels only.
	Related []Related
	// MaxObjects bounds how many objects are read; 0 is DefaultMaxObjects, less than 0 no bound. Of workloads that are
	// read for Related but not copied, ten times as many may be there, since only their metadata are read.
	MaxObjects int
	// WithSecrets copies the data of Secrets too. Without it, SecretDigest replaces the values; nil makes them empty.
	WithSecrets  bool
	SecretDigest *SecretDigest
	// Neighbours reads the pods that are not copied too, for Copy.Neighbours: for sessions that schedule pods.
	Neighbours bool
	// Definitions are custom resources whose definitions are copied even if none of their objects is.
	Definitions []schema.GroupKind
}

// Root is an object of Options.Roots. Namespace is ignored for a kind that has none.
type Root struct {
	Kind            cluster.Kind
	Namespace, Name string
}

func (r Root) compare(other Root) int {
	return cmp.Or(r.Kind.Compare(other.Kind),
		cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name))
}

// Copy is a copy of a part of a cluster. It is not changed after Read, and may be used concurrently.
type Copy struct {
	// Namespaces are those that were copied, sorted; with AllNamespaces all that the cluster has.
	Namespaces    []string
	AllNamespaces bool
	// Objects are sorted by kind, namespace and name.
	Objects []Object
	// ResourceVersion is the newest of the lists and objects that were read: what is written to the copy is newer.
	ResourceVersion uint64
	// Incomplete is what should be in the copy and could not be read, sorted; a kind that could not be listed may be
	// there in part.
	Incomplete []cluster.Incomplete
	// LeftOut is what the cluster has and the copy has not, on purpose, sorted.
	LeftOut []LeftOut
	// Usage is what pods used, for autoscalers. It is nil if the copy has none, if one of them decides by other
	// metrics, or if it could not be read.
	Usage *Usage
	// ServiceRanges are ranges of Service addresses that have those of the copied Services, the primary family first,
	// if the cluster does not tell its own; nil if it does, or if there are no addresses.
	ServiceRanges []string
	// Neighbours are the pods on the copied nodes that are in other namespaces, or are not copied because of
	// Options.Related, without most of their fields: they take room on the nodes. They are no part of the copy
	// otherwise.
	Neighbours []*corev1.Pod
	// FromFiles is true if the objects come from no API server, but from FromFiles: they may be anything.
	FromFiles bool
	// AbsentOwners are owners that FromFiles did not find and that count as there, sorted. Their kinds have no version.
	AbsentOwners []Root
	// Unrelated is how many objects of the namespaces are not copied because of Options.Related.
	Unrelated int

	index map[key]int // of Objects
}

// Object is an object of a cluster.
type Object struct {
	// Kind is its kind in the version in which it was read.
	Kind            cluster.Kind
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// JSON is the object as the server has written it, maybe without apiVersion and kind. It must not be changed.
	JSON json.RawMessage

	owners []metav1.OwnerReference
}

// Unstructured returns the object decoded, with apiVersion and kind. The caller owns it.
func (o *Object) Unstructured() (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	fields := map[string]any{}
	if err := decodeJSON(o.JSON, &fields); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", o, err)
	}
	out.Object = fields
	out.SetGroupVersionKind(o.Kind.GroupVersionKind)
	return out, nil
}

// String names the object as kubectl does, such as deployment.apps/web.
func (o *Object) String() string { return o.Kind.String() + "/" + o.Name }

// key is what identifies an object in a copy.
type key struct {
	resource        schema.GroupResource
	namespace, name string
}

func (o *Object) key() key { return key{o.Kind.GroupResource(), o.Namespace, o.Name} }

func compareObjects(a, b *Object) int {
	return cmp.Or(a.Kind.Compare(b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Find returns the object of that kind, namespace and name, in whatever version; false if the copy does not have it.
// The namespace is empty for kinds without.
func (c *Copy) Find(resource schema.GroupResource, namespace, name string) (*Object, bool) {
	i, ok := c.index[key{resource, namespace, name}]
	if !ok {
		return nil, false
	}
	return &c.Objects[i], true
}

// HasNamespace reports whether a namespace was copied.
func (c *Copy) HasNamespace(name string) bool {
	return c.AllNamespaces || slices.Contains(c.Namespaces, name)
}

// HasKind reports whether the copy has an object of that kind.
func (c *Copy) HasKind(resource schema.GroupResource) bool {
	return slices.ContainsFunc(c.Objects, func(o Object) bool { return o.Kind.GroupResource() == resource })
}

// Unread reports whether objects of a kind may be missing in the copy because they could not be read.
func (c *Copy) Unread(resource schema.GroupResource) bool {
	return slices.ContainsFunc(c.Incomplete, func(i cluster.Incomplete) bool {
		return i.Group == resource.Group && (i.Resource == resource.Resource || i.Resource == "")
	})
}

// KindCount counts the objects of a kind.
type KindCount struct {
	Kind    cluster.Kind
	Objects int
}

// Counts returns how many objects there are of each kind, sorted by kind.
func (c *Copy) Counts() []KindCount { return countKinds(slices.Values(c.Objects)) }

// Reason is why something is left out of a copy.
type Reason string

// The reasons.
const (
	// ReasonWebhook is that of an admission webhook: it cannot be reached from a copy, whose writes it must not see.
	ReasonWebhook Reason = "Webhook"
	// ReasonConversion is that of the versions of a custom resource that only a webhook can convert to.
	ReasonConversion Reason = "Conversion"
	// ReasonAggregated is that of a kind which another API server serves.
	ReasonAggregated Reason = "Aggregated"
	// ReasonUndefined is that of custom resources whose definition could not be read.
	ReasonUndefined Reason = "Undefined"
	// ReasonParameters is that of an admission policy with parameters that are not in the copy.
	ReasonParameters Reason = "Parameters"
	// ReasonNeighbours is that of the pods of other namespaces that are on the same nodes, if they could not be read.
	ReasonNeighbours Reason = "Neighbours"
	// ReasonSecret is that of the data of Secrets.
	ReasonSecret Reason = "Secret"
	// ReasonOwner is that of an owner that FromFiles did not find: it counts as there, and Objects is how many it owns.
	ReasonOwner Reason = "Owner"
	// ReasonNodes is that of nodes that FromFiles did not find and has made up.
	ReasonNodes Reason = "Nodes"
)

// LeftOut is something that a cluster has and a copy has not, on purpose.
type LeftOut struct {
	// Group, Resource and Name say what: an object, or without a name those of a kind.
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	Name     string `json:"name,omitempty"`
	// Objects is how many objects it is about.
	Objects int    `json:"objects,omitempty"`
	Reason  Reason `json:"reason"`
	// Message is the reason as half a sentence.
	Message string `json:"message"`
}

func (l LeftOut) compare(other LeftOut) int {
	return cmp.Or(cmp.Compare(l.Reason, other.Reason), cmp.Compare(l.Group, other.Group),
		cmp.Compare(l.Resource, other.Resource), cmp.Compare(l.Name, other.Name), cmp.Compare(l.Message, other.Message))
}

// NotFoundError is the error of a root, or of a namespace, that does not exist.
type NotFoundError struct{ Root }

func (e *NotFoundError) Error() string {
	if e.Namespace == "" || !e.Kind.Namespaced {
		return fmt.Sprintf("no %s %q", e.Kind, e.Name)
	}
	return fmt.Sprintf("no %s %q in namespace %q", e.Kind, e.Name, e.Namespace)
}

// UnreadableError is the error of a part of a cluster of which nothing could be read. Incomplete has the reasons.
type UnreadableError struct{ Incomplete []cluster.Incomplete }

func (e *UnreadableError) Error() string {
	first := e.Incomplete[0]
	return fmt.Sprintf("nothing of it could be read: %s: %s", first.Resource, first.Message)
}

// TooManyObjectsError is the error of a part of a cluster that has more objects than Options.MaxObjects.
type TooManyObjectsError struct {
	Limit int
	// Most are the kinds with the most objects, as far as they were read, the largest first.
	Most []KindCount
}

func (e *TooManyObjectsError) Error() string {
	var kinds []string
	for _, c := range e.Most {
		kinds = append(kinds, fmt.Sprintf("%d %s", c.Objects, c.Kind.GroupResource()))
	}
	return fmt.Sprintf("it has more than %d objects, among those read %s", e.Limit, strings.Join(kinds, ", "))
}

// errNoScope is the error of Options without a scope.
var errNoScope = errors.New("copying a part of a cluster: no namespace and no object is named")

// Read copies a part of a cluster. Partial failure is in the result. The error is not nil if ctx has ended, or it is a
// *NotFoundError, an *UnreadableError or a *TooManyObjectsError.
func Read(ctx context.Context, o Options) (*Copy, error) {
	if len(o.Namespaces)+len(o.Roots) == 0 && !o.AllNamespaces {
		return nil, errNoScope
	}
	r := newReading(&o)
	for _, step := range []func(context.Context) error{
		r.readScope, r.dropUnrelated, r.readOwners, r.readDefinitions, r.requireRoots, r.readUsage, r.readNeighbours,
	} {
		if err := r.do(ctx, step); err != nil {
			return nil, err
		}
	}
	r.keepPairs()
	r.leaveOutWebhooks()
	r.leaveOutPolicies()
	return r.result(), nil
}

// requireRoots returns an error for the first root that was not read.
func (r *reading) requireRoots(context.Context) error {
	for _, root := range r.o.Roots {
		namespace := root.Namespace
		if !root.Kind.Namespaced {
			namespace = ""
		}
		_, ok := r.objects[key{root.Kind.GroupResource(), namespace, root.Name}]
		if !ok && !r.failed(root.Kind.GroupResource()) {
			return &NotFoundError{root}
		}
	}
	return nil
}
