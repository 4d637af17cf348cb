package api

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"unsafe"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
)

// policyPair is a policy and a binding of it, by their versions.
type policyPair struct{ policy, binding string }

// policyPlugin returns the pairs that an admission plugin goes by.
type policyPlugin func() map[policyPair]bool

// policyPlugins are the plugins of the server that go by policies, by the resource of these.
type policyPlugins map[string]policyPlugin

// Decorate implements admission.Decorator: it notes the plugin, and leaves it as it is.
func (p policyPlugins) Decorate(handler admission.Interface, _ string) admission.Interface {
	switch plugin := handler.(type) {
	case *validating.Plugin:
		p["validatingadmissionpolicies"] = pairsOf(plugin.Plugin)
	case *mutating.Plugin:
		p["mutatingadmissionpolicies"] = pairsOf(plugin.Plugin)
	}
	return handler
}

// pairsOf returns what a plugin goes by. It reads its private source, which compiles policies once a second: no method
// tells whether a policy is in force.
func pairsOf[P, B metaObject, E generic.Evaluator](
	plugin *generic.Plugin[generic.PolicyHook[P, B, E]],
) policyPlugin {
	return func() map[policyPair]bool {
		out := map[policyPair]bool{}
		source, err := sourceOf(plugin)
		if err != nil || source == nil {
			return out
		}
		for _, hook := range source.Hooks() {
			for _, binding := range hook.Bindings {
				out[policyPair{hook.Policy.GetResourceVersion(), binding.GetResourceVersion()}] = true
			}
		}
		return out
	}
}

type metaObject interface {
	runtime.Object
	metav1.Object
}

// errPolicySource is that upstream has moved the private field.
var errPolicySource = errors.New("the plugin of policies has no source of the known type")

// sourceOf returns the private source of a plugin.
func sourceOf[H any](plugin *generic.Plugin[H]) (generic.Source[H], error) {
	field := reflect.ValueOf(plugin).Elem().FieldByName("source")
	if !field.IsValid() || field.Type() != reflect.TypeFor[generic.Source[H]]() {
		return nil, errPolicySource
	}
	return *(*generic.Source[H])(unsafe.Pointer(field.UnsafeAddr())), nil //nolint:gosec // the type is compared
}

// policiesInForce reports whether admission goes by the policies and bindings that its caches have; true for all other
// resources.
func (s *Server) policiesInForce(gr schema.GroupResource) bool {
	for resource, plugin := range s.policies {
		policies := schema.GroupResource{Group: admissionv1.GroupName, Resource: resource}
		bindings := schema.GroupResource{
			Group: admissionv1.GroupName, Resource: strings.TrimSuffix(resource, "ies") + "ybindings",
		}
		if gr != policies && gr != bindings {
			continue
		}
		if s.caches[policies] == nil || s.caches[bindings] == nil {
			return true
		}
		return maps.Equal(plugin(), pairsIn(s.caches[policies].List(), s.caches[bindings].List()))
	}
	return true
}

// pairsIn returns the pairs of policies and bindings that belong together.
func pairsIn(policies, bindings []any) map[policyPair]bool {
	versions := map[string]string{}
	for _, object := range policies {
		if policy, ok := object.(metav1.Object); ok {
			versions[policy.GetName()] = policy.GetResourceVersion()
		}
	}
	out := map[policyPair]bool{}
	for _, object := range bindings {
		name, version := "", ""
		switch binding := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			name, version = binding.Spec.PolicyName, binding.ResourceVersion
		case *admissionv1.MutatingAdmissionPolicyBinding:
			name, version = binding.Spec.PolicyName, binding.ResourceVersion
		}
		if policy, there := versions[name]; there {
			out[policyPair{policy, version}] = true
		}
	}
	return out
}
