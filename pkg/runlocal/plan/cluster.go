package plan

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Cluster is a Source: a part of a cluster, which is only read. What is applied is tried there in dry run, with its
// webhooks and defaults, and so is what controllers create in the plan. Values of Secrets stay in the cluster.
type Cluster struct {
	// Config is how it is reached. Its warning handler gets the warnings about what is applied, and no others.
	Config *rest.Config
	// Kinds are those that it serves, and Reader reads it; either is made if it is nil.
	Kinds  *cluster.Kinds
	Reader *cluster.Reader
	// AllNamespaces copies all of it; else the namespaces of what is asked for, applied and pruned are copied, of which
	// only what is related to single objects.
	AllNamespaces bool
}

var _ Source = (*Cluster)(nil)

// open returns the cluster with its kinds and a reader. Requests are not limited if Config does not say how.
func (c *Cluster) open(ctx context.Context) (*Cluster, error) {
	out := *c
	var err error
	if out.Config = rest.CopyConfig(c.Config); out.Config.QPS == 0 {
		out.Config.QPS = -1
	}
	if out.Kinds == nil {
		if out.Kinds, err = cluster.Discover(ctx, c.withoutWarnings()); err != nil {
			return nil, fmt.Errorf("asking which kinds there are: %w", err)
		}
	}
	if out.Reader == nil {
		out.Reader, err = cluster.NewReader(c.withoutWarnings())
	}
	return &out, err
}

// withoutWarnings returns the configuration of the cluster for what the user does not write: that a kind is deprecated
// matters to who writes its objects.
func (c *Cluster) withoutWarnings() *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, rest.NoWarnings{}
	return config
}

// clusterRead is one Cluster.Read.
type clusterRead struct {
	c         *Cluster // open
	o         *Options
	change    Change
	namespace string
	secrets   *seed.SecretDigest // of what is copied and of what the cluster answers

	asked  asked
	tried  []*triedManifest
	pruned []seed.Root // with the change
}

// Read implements Source. It tries the change on the cluster, and copies what the plan for it needs. Its errors are
// those of seed.Read, and *ManifestError, *ReadError, *ForeignKindError and *UnservedKindError.
func (c *Cluster) Read(ctx context.Context, change Change, o Options) (*State, error) {
	opened, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	r := &clusterRead{c: opened, o: &o, change: change, namespace: cmp.Or(o.Namespace, metav1.NamespaceDefault)}
	if r.secrets, err = seed.NewSecretDigest(rand.Reader); err != nil {
		return nil, err
	}
	if r.asked, err = o.resolve(ctx, opened, r.namespace); err != nil {
		return nil, err
	}
	if err := r.tryManifests(ctx); err != nil {
		return nil, err
	}
	state := &State{Namespace: r.namespace, cluster: r}
	if state.Unpruned, err = r.prune(ctx); err != nil {
		return nil, err
	}
	scope, err := r.scope(ctx)
	if err != nil {
		return nil, err
	}
	o.begin(StageRead)
	if state.Copy, err = seed.Read(ctx, scope); err != nil {
		return nil, err
	}
	if err := r.check(ctx, state.Copy); err != nil {
		return nil, err
	}
	if err := r.keepCopied(state); err != nil {
		return nil, err
	}
	state.Dependents = r.dependents()
	return state, nil
}

// prune finds what is deleted with the change, and returns what could not be listed.
func (r *clusterRead) prune(ctx context.Context) (unlisted []cluster.Incomplete, err error) {
	if r.change.Prune == nil || len(r.change.Manifests) == 0 {
		return nil, nil
	}
	var visited []visitedObject
	for _, t := range r.tried {
		v := visitedObject{
			resource:  t.kind.GroupResource(),
			namespace: t.manifest.Object.GetNamespace(), name: t.manifest.Object.GetName(),
		}
		if t.after != nil {
			v.uid = t.after.GetUID()
		}
		if t.known {
			visited = append(visited, v)
		}
	}
	r.pruned, unlisted, err = r.change.Prune.find(ctx, r.c, visited)
	return unlisted, err
}

// check returns an error if an object that was asked for is not in a copy, unless its kind could not be read.
func (r *clusterRead) check(ctx context.Context, copied *seed.Copy) error {
	for _, t := range r.asked.single() {
		resource := t.Kind.GroupResource()
		if _, ok := copied.Find(resource, t.Namespace, t.Name); ok || copied.Unread(resource) {
			continue
		}
		if _, err := r.c.Reader.Metadata(ctx, t.Kind, t.Namespace, t.Name); err != nil {
			return &ReadError{t, err}
		}
		return fmt.Errorf("%s/%s is in the cluster, and no copy has it", t.Kind, t.Name)
	}
	return nil
}

// namespaceKind and volumeKind are kinds in no namespace that belong to one.
var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	volumeKind    = schema.GroupKind{Kind: "PersistentVolume"}
)

// scope returns what is to be copied: the namespaces of all objects that are asked for, applied or pruned.
func (r *clusterRead) scope(ctx context.Context) (seed.Options, error) {
	o := seed.Options{
		Reader: r.c.Reader, Kinds: r.c.Kinds, AllNamespaces: r.c.AllNamespaces, MaxObjects: r.o.MaxObjects,
		SecretDigest: r.secrets, Neighbours: true,
	}
	for _, t := range r.readByName() {
		if !t.Kind.Namespaced {
			o.Roots = append(o.Roots, seed.Root{Kind: t.Kind, Name: t.Name})
		}
		namespace, err := r.namespaceOf(ctx, t)
		if err != nil {
			return o, err
		}
		o.Namespaces = append(o.Namespaces, namespace)
	}
	for _, t := range r.asked {
		if t.Name == "" {
			o.Namespaces = append(o.Namespaces, t.Namespace)
		}
	}
	for _, t := range r.tried {
		if !t.known {
			continue
		}
		if !t.newNamespace {
			o.Namespaces = append(o.Namespaces, t.manifest.Object.GetNamespace())
		}
		if !isBuiltIn(t.kind) && !slices.Contains(o.Definitions, t.kind.GroupKind()) {
			o.Definitions = append(o.Definitions, t.kind.GroupKind())
		}
	}
	if o.AllNamespaces {
		o.Namespaces = nil
		return o, nil
	}
	o.Related = r.related()
	slices.Sort(o.Namespaces)
	o.Namespaces = slices.DeleteFunc(slices.Compact(o.Namespaces), func(n string) bool { return n == "" })
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{r.namespace}
	}
	return o, nil
}

// readByName returns the objects that are asked for, pruned, or applied and in no namespace, if the cluster has them:
// of what is in no namespace a copy has little that is not asked for.
func (r *clusterRead) readByName() []seed.Root {
	out := r.asked.single()
	for _, t := range r.tried {
		if t.exists() && !t.kind.Namespaced {
			out = append(out, seed.Root{Kind: t.kind, Name: t.after.GetName()})
		}
	}
	return append(out, r.pruned...)
}

// related returns the objects that the plan is for, if it is for single objects.
func (r *clusterRead) related() []seed.Related {
	var out []seed.Related
	for _, root := range r.asked {
		if root.Name == "" {
			return nil
		}
		out = append(out, seed.Related{Root: root})
	}
	for _, t := range r.tried {
		obj := cmp.Or(t.after, t.manifest.Object)
		root := seed.Root{Kind: t.kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if t.known && isBuiltIn(t.kind) {
			out = append(out, seed.Related{Root: root, Object: obj})
		}
	}
	for _, root := range r.pruned {
		out = append(out, seed.Related{Root: root})
	}
	return out
}

// namespaceOf returns the namespace that an object belongs to: its own, that which it is, or that of a volume's claim;
// empty if there is none, or if it is gone.
func (r *clusterRead) namespaceOf(ctx context.Context, t seed.Root) (string, error) {
	switch t.Kind.GroupKind() {
	case namespaceKind:
		return t.Name, nil
	case volumeKind:
		volume, err := r.c.Reader.Object(ctx, t.Kind, "", t.Name)
		if err != nil {
			return "", &ReadError{t, err}
		}
		return r.claimNamespace(ctx, volume), nil
	}
	return t.Namespace, nil
}

// claimNamespace returns the namespace of a volume's claim; empty if it has none, or if the namespace is gone.
func (r *clusterRead) claimNamespace(ctx context.Context, volume *unstructured.Unstructured) string {
	// A server has checked that it is text.
	name, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "namespace")
	kind, served, err := r.c.Kinds.Lookup(namespaceKind.WithVersion("v1"))
	if name == "" || err != nil || !served {
		return name
	}
	if _, err := r.c.Reader.Metadata(ctx, kind, "", name); apierrors.IsNotFound(err) {
		return ""
	}
	return name
}

// dependents returns the objects in no namespace on which others may depend that are in a namespace which is not
// copied.
func (r *clusterRead) dependents() []seed.Root {
	if r.c.AllNamespaces {
		return nil
	}
	return slices.DeleteFunc(r.asked.single(), func(t seed.Root) bool {
		kind := t.Kind.GroupKind()
		return t.Kind.Namespaced || kind == namespaceKind || kind == volumeKind
	})
}
