package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// File is an object that was read from a file, and the name of the file for errors.
type File struct {
	Source string
	Object *unstructured.Unstructured
}

func (f File) String() string { return f.Source + ": " + kindText(f.Object) + "/" + f.Object.GetName() }

// kindText names the kind of an object as kubectl does, such as deployment.apps.
func kindText(obj *unstructured.Unstructured) string {
	return cluster.Kind{GroupVersionKind: obj.GroupVersionKind()}.String()
}

// IsStored reports whether an object is as a server has stored it: it has a uid and a resourceVersion. Manifests have
// neither.
func IsStored(obj *unstructured.Unstructured) bool {
	return obj.GetUID() != "" && obj.GetResourceVersion() != ""
}

// FromFiles returns the copy that objects of files make, in the place of a cluster: each is kept as it is, so IsStored
// must be true for all. Events, and Leases of others than nodes, are left out, as by Read. Custom resources need their
// CustomResourceDefinitions among the objects.
//
// A file need not have all that a cluster has. Owners that are not among the objects count as there: see ReasonOwner.
// If pods name nodes and there are none, nodes of these names are made up, which have much room and no taints.
//
// maxObjects is as Options.MaxObjects. The error joins one for each object without a name, one for each object that is
// there twice and is not the same, and one for each that has the uid of another; or it is a *TooManyObjectsError.
func FromFiles(files []File, maxObjects int) (*Copy, error) {
	r := newReading(&Options{Kinds: &cluster.Kinds{}, AllNamespaces: true, WithSecrets: true, MaxObjects: maxObjects})
	r.cancel = func(error) {} // nothing runs that it could end
	if err := r.addFiles(files); err != nil {
		return nil, err
	}
	for _, kind := range r.customKinds() {
		object, ok := r.objects[key{resource: definitions, name: kind.GroupResource().String()}]
		if !ok {
			r.drop(kind, ReasonUndefined, "their CustomResourceDefinition is not among the objects")
			continue
		}
		if d, ok := r.definitionOf(kind, object); ok {
			r.serveVersion(kind, object, d)
		}
	}
	r.noteAbsentOwners()
	if err := r.addNodes(files); err != nil {
		return nil, err
	}
	r.keepPairs()
	r.leaveOutWebhooks()
	r.leaveOutPolicies()
	c := r.result()
	c.AllNamespaces, c.Namespaces = false, nil
	c.FromFiles, c.AbsentOwners = true, r.absent
	sort.Slice(c.AbsentOwners, func(i, j int) bool { return c.AbsentOwners[i].compare(c.AbsentOwners[j]) < 0 })
	for i := range c.Objects {
		switch o := &c.Objects[i]; {
		case o.Kind.GroupResource() == namespaces:
			c.Namespaces = append(c.Namespaces, o.Name)
		case o.Namespace != "":
			c.Namespaces = append(c.Namespaces, o.Namespace)
		}
	}
	slices.Sort(c.Namespaces)
	c.Namespaces = slices.Compact(c.Namespaces)
	return c, nil
}

// addFiles adds the objects of files.
func (r *reading) addFiles(files []File) error {
	defined := definedResources(files)
	sources, uids := map[key]File{}, map[types.UID]File{}
	var errs []error
	for _, f := range files {
		kind := kindOf(f.Object, defined)
		k := key{kind.GroupResource(), f.Object.GetNamespace(), f.Object.GetName()}
		if NeverRead(k.resource) && (k.resource != leases || k.namespace != corev1.NamespaceNodeLease) {
			continue
		}
		other, twice := sources[k]
		same, known := uids[f.Object.GetUID()]
		switch {
		case k.name == "":
			errs = append(errs, fmt.Errorf("%s: the %s has no name", f.Source, kindText(f.Object)))
			continue
		case twice && isSame(f.Object, other.Object):
			continue // `kubectl get all,pods` prints pods twice
		case twice:
			errs = append(errs, fmt.Errorf("%s is also in %s, and is not the same there", f, other.Source))
			continue
		case known:
			errs = append(errs, fmt.Errorf("%s has the uid of %s", f, same))
			continue
		}
		sources[k], uids[f.Object.GetUID()] = f, f
		data, err := f.Object.MarshalJSON()
		if err == nil {
			err = r.add(kind, data)
		}
		if tooMany := (*TooManyObjectsError)(nil); errors.As(err, &tooMany) {
			return tooMany
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f, err))
		}
	}
	return errors.Join(errs...)
}

// isSame reports whether two objects are the same version of one object.
func isSame(a, b *unstructured.Unstructured) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// definedResources returns the plural names of the custom resources that are defined among the objects.
func definedResources(files []File) map[schema.GroupKind]string {
	out := map[schema.GroupKind]string{}
	for _, f := range files {
		if f.Object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		// What is not there is not served either: the objects are left out.
		group, _, _ := unstructured.NestedString(f.Object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(f.Object.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(f.Object.Object, "spec", "names", "plural")
		out[schema.GroupKind{Group: group, Kind: kind}] = plural
	}
	return out
}

// kindOf returns the kind of an object of a file.
func kindOf(obj *unstructured.Unstructured, defined map[schema.GroupKind]string) cluster.Kind {
	gvk := obj.GroupVersionKind()
	return cluster.Kind{
		GroupVersionKind: gvk, Resource: cmp.Or(defined[gvk.GroupKind()], cluster.GuessResource(gvk.Kind)),
		Namespaced: obj.GetNamespace() != "",
	}
}

// ownerName is what an owner reference names; the namespace is that of the dependent.
type ownerName struct {
	schema.GroupKind
	namespace, name string
}

// noteAbsentOwners records the owners that are not among the objects. One of which another object has the name, with
// another uid, is gone.
func (r *reading) noteAbsentOwners() {
	there := map[ownerName]bool{}
	for _, o := range r.objects {
		there[ownerName{o.Kind.GroupKind(), o.Namespace, o.Name}] = true
	}
	absent := map[ownerName]int{}
	for _, o := range r.objects {
		for _, owner := range o.owners {
			kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
			of := ownerName{kind, o.Namespace, owner.Name}
			isNode := kind == schema.GroupKind{Kind: "Node"} // nodes are made up where there are none
			if !isNode && !r.uids[owner.UID] && !there[of] && !there[ownerName{kind, "", owner.Name}] {
				absent[of]++
			}
		}
	}
	for of, n := range absent {
		resource := cluster.GuessResource(of.Kind)
		kind := cluster.Kind{
			GroupVersionKind: of.WithVersion(""), Resource: resource, Namespaced: of.namespace != "",
		}
		r.absent = append(r.absent, Root{Kind: kind, Namespace: of.namespace, Name: of.name})
		r.leaveOut(LeftOut{
			Group: of.Group, Resource: resource, Name: of.name, Objects: n, Reason: ReasonOwner,
			Message: fmt.Sprintf("it owns %d of the objects and is not among them: it counts as there", n),
		})
	}
}

// Nodes that are made up have room for the pods of any file.
const (
	madeUpCPU    = "64"
	madeUpMemory = "256Gi"
	madeUpPods   = "1000"
)

// addNodes adds the nodes that pods name, if the objects have none.
func (r *reading) addNodes(files []File) error {
	for k := range r.objects {
		if k.resource == nodes {
			return nil
		}
	}
	names := map[string]types.UID{}
	for _, f := range files {
		if f.Object.GetKind() != "Pod" || f.Object.GetAPIVersion() != "v1" {
			continue
		}
		name, _, err := unstructured.NestedString(f.Object.Object, "spec", "nodeName")
		if err != nil || name == "" {
			continue
		}
		names[name] = cmp.Or(names[name], types.UID("made-up-"+name))
		for _, owner := range f.Object.GetOwnerReferences() { // of a static pod
			if owner.Kind == "Node" && owner.Name == name {
				names[name] = owner.UID
			}
		}
	}
	kind := cluster.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"), Resource: nodes.Resource}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		data, err := json.Marshal(madeUpNode(name, names[name]))
		if err == nil {
			err = r.add(kind, data)
		}
		if err != nil {
			return err
		}
	}
	if len(names) > 0 {
		r.leaveOut(LeftOut{
			Resource: nodes.Resource, Objects: len(names), Reason: ReasonNodes,
			Message: "pods name them and they are not among the objects: nodes of these names with much room " +
				"and without taints take their place",
		})
	}
	return nil
}

func madeUpNode(name string, uid types.UID) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(madeUpCPU), corev1.ResourceMemory: resource.MustParse(madeUpMemory),
		corev1.ResourcePods: resource.MustParse(madeUpPods),
	}
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: uid, ResourceVersion: "1",
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
		},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		},
	}
}
