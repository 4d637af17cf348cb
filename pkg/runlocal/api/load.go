package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// StoredObject is an object as an API server has returned it, for Options.Objects.
type StoredObject struct {
	// Kind is the object's kind in the version of JSON, Resource the plural name in its URL.
	Kind     schema.GroupVersionKind
	Resource string
	// JSON is the object. The items of lists have no apiVersion and kind, so these may be missing.
	JSON []byte
}

// UnloadedObject is an object of Options.Objects that the server does not have.
type UnloadedObject struct {
	Kind            schema.GroupVersionKind
	Resource        string
	Namespace, Name string
	// Err is why: ErrNotServed, that the object cannot be decoded, or with Options.CheckObjects that it is not valid.
	Err error
}

// ErrNotServed is the error of an object whose kind the server does not serve: one of another Kubernetes version or of
// an aggregated API server, or a custom resource without its CustomResourceDefinition.
var ErrNotServed = errors.New("this API does not serve its kind")

// BuiltIn reports whether every server of this package serves the API group. The kinds of other groups are custom
// resources, or are served by other API servers.
func BuiltIn(group string) bool {
	if group == apiextensionsv1.GroupName || group == apiregistrationv1.GroupName {
		return true
	}
	for gv := range servedVersions().GroupVersionConfigs {
		if gv.Group == group {
			return true
		}
	}
	return false
}

// Unloaded returns those of Options.Objects that the server does not have, in the order in which they were given.
func (s *Server) Unloaded() []UnloadedObject { return slices.Clone(s.unloaded) }

// load stores the objects below the REST layer, as they are: admission, validation and strategies do not see them, and
// they keep what only a server sets. CustomResourceDefinitions come first, and decide which custom resources there are;
// The store must not be in use. Afterwards it continues at Options.ResourceVersion, or at
// the newest version of an object if that is higher.
func (b *backend) load(ctx context.Context, o Options, recorded recordedKinds) []UnloadedObject {
	objects := o.Objects
	errs := make([]error, len(objects))
	defined := b.loadHidden(ctx, recorded.hidden(o.Recorded))
	var custom []int
	for i := range objects {
		resource := objects[i].resource()
		if recorded != nil && recorded.find(resource) == nil {
			errs[i] = ErrNotServed
			continue
		}
		storage, builtIn := b.builtIn(resource)
		if !builtIn {
			custom = append(custom, i)
			continue
		}
		obj, err := b.loadObject(ctx, &objects[i], storage)
		errs[i] = err
		if err == nil && resource == definitionsResource {
			defined[schema.ParseGroupResource(obj.GetName())] = true
		}
	}
	for _, i := range custom {
		resource := objects[i].resource()
		if !defined[resource] {
			errs[i] = ErrNotServed
			if recorded == nil {
				continue
			}
			// the definition may be played later
		}
		// The handler of custom resources makes its storage with the first request, and finds what is there.
		if _, err := b.loadObject(ctx, &objects[i], customStorage(resource)); err != nil {
			errs[i] = err
		}
	}
	b.startPlaying(recorded)
	b.store.StartAt(o.ResourceVersion)
	var unloaded []UnloadedObject
	for i, err := range errs {
		if err != nil {
			unloaded = append(unloaded, objects[i].unloaded(err))
		}
	}
	return unloaded
}

// loadHidden stores definitions that clients do not see, and returns the resources that they define.
func (b *backend) loadHidden(ctx context.Context, definitions []StoredObject) map[schema.GroupResource]bool {
	defined := map[schema.GroupResource]bool{}
	storage, _ := b.builtIn(definitionsResource)
	for i := range definitions {
		// Of what cannot be loaded the objects are reported.
		if obj, err := b.loadObject(ctx, &definitions[i], storage); err == nil {
			defined[schema.ParseGroupResource(obj.GetName())] = true
		}
	}
	return defined
}

// builtIn returns the storage of a resource that is no custom one; false if there is none.
func (b *backend) builtIn(resource schema.GroupResource) (resourceStorage, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	storage, ok := b.resources[resource]
	return storage, ok && !storage.custom
}

// loadObject decodes the object and stores it.
func (b *backend) loadObject(ctx context.Context, o *StoredObject, storage resourceStorage) (metav1.Object, error) {
	obj, m, err := storage.decode(o)
	if err != nil {
		return nil, err
	}
	if err := b.check(ctx, o.Kind, o.resource(), obj, m); err != nil {
		return nil, err
	}
	return m, b.store.Load(ctx, storage.config, storage.prefix, storage.mode, storage.key(m), obj)
}

// key returns the key of an object.
func (s resourceStorage) key(m metav1.Object) string {
	if m.GetNamespace() != "" {
		return s.prefix + "/" + m.GetNamespace() + "/" + m.GetName()
	}
	return s.prefix + "/" + m.GetName()
}

// decode returns the object as the storage keeps it, with its metadata. Defaults and conversions of upstream expect
// what validation has let through, which is not known of what comes from a file: a panic in them is an error.
func (s resourceStorage) decode(o *StoredObject) (_ runtime.Object, _ metav1.Object, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decoding %s: %v", o.Resource, cause)
		}
	}()
	data := o.JSON
	var into runtime.Object
	if s.custom { // codecs of unstructured objects need the kind in the data
		into = &unstructured.Unstructured{}
		if data, err = o.withKind(); err != nil {
			return nil, nil, err
		}
	}
	obj, _, err := s.config.Codec.Decode(data, &o.Kind, into)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding %s: %w", o.Resource, err)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding %s: %w", o.Resource, err)
	}
	return obj, m, nil
}

func (o *StoredObject) resource() schema.GroupResource {
	return schema.GroupResource{Group: o.Kind.Group, Resource: o.Resource}
}

// withKind returns the JSON with apiVersion and kind.
func (o *StoredObject) withKind() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.JSON, &fields); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", o.Resource, err)
	}
	if fields["apiVersion"] != nil && fields["kind"] != nil {
		return o.JSON, nil
	}
	if fields == nil {
		return nil, fmt.Errorf("decoding %s: not an object", o.Resource)
	}
	var err error
	if fields["apiVersion"], err = json.Marshal(o.Kind.GroupVersion().String()); err != nil {
		return nil, err
	}
	if fields["kind"], err = json.Marshal(o.Kind.Kind); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// unloaded describes the object as one that was not loaded because of err.
func (o *StoredObject) unloaded(err error) UnloadedObject {
	out := UnloadedObject{Kind: o.Kind, Resource: o.Resource, Err: err}
	var named metav1.PartialObjectMetadata
	if json.Unmarshal(o.JSON, &named) == nil {
		out.Namespace, out.Name = named.Namespace, named.Name
	}
	return out
}

// serviceRanges returns the ranges of cluster addresses that the objects have as ServiceCIDRs, the one of the primary
// address family first, or nil if they have none. Of several ServiceCIDRs the one that a kube-apiserver makes counts,
// and else the first by name.
func serviceRanges(objects []StoredObject) []string {
	var all []networkingv1.ServiceCIDR
	for i := range objects {
		var one networkingv1.ServiceCIDR
		if objects[i].resource() != networkingv1.Resource("servicecidrs") ||
			json.Unmarshal(objects[i].JSON, &one) != nil {
			continue
		}
		valid := !slices.ContainsFunc(one.Spec.CIDRs, func(text string) bool {
			_, err := netip.ParsePrefix(text)
			return err != nil
		})
		if valid && len(one.Spec.CIDRs) > 0 {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil
	}
	byName := func(a, b networkingv1.ServiceCIDR) int {
		if isDefault := a.Name == defaultServiceCIDR; isDefault != (b.Name == defaultServiceCIDR) {
			if isDefault {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	}
	return slices.MinFunc(all, byName).Spec.CIDRs
}

// nodePorts returns the node ports of the Services among the objects.
func nodePorts(objects []StoredObject) []int32 {
	var out []int32
	for i := range objects {
		var service corev1.Service
		if objects[i].resource() != corev1.Resource("services") || json.Unmarshal(objects[i].JSON, &service) != nil {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.NodePort != 0 {
				out = append(out, port.NodePort)
			}
		}
		if port := service.Spec.HealthCheckNodePort; port != 0 {
			out = append(out, port)
		}
	}
	return out
}

// clusterIPs returns the cluster addresses of the Services among the objects.
func clusterIPs(objects []StoredObject) []string {
	var out []string
	for i := range objects {
		var service corev1.Service
		if objects[i].resource() != corev1.Resource("services") || json.Unmarshal(objects[i].JSON, &service) != nil {
			continue
		}
		out = append(out, service.Spec.ClusterIPs...)
	}
	return out
}
