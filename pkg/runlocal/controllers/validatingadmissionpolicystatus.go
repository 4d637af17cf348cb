package controllers

import (
	"context"
	"sync"

	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// policyStatusController is newValidatingAdmissionPolicyStatusController of
// cmd/kube-controller-manager/app/validatingadmissionpolicystatus.go.
func policyStatusController() Controller {
	policies := []schema.GroupResource{{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}}
	return Controller{
		Name:    names.ValidatingAdmissionPolicyStatusController,
		Short:   "validatingadmissionpolicy-status",
		Reads:   policies,
		Writes:  policies,
		Needs:   []Need{NeedsMapper},
		workers: 5,
		build:   buildPolicyStatus,
	}
}

func buildPolicyStatus(_ context.Context, e environment) (loop, error) {
	checker := &validating.TypeChecker{SchemaResolver: newSchemas(e.client.Discovery()), RestMapper: newMapper(e)}
	c, err := validatingadmissionpolicystatus.NewController(
		e.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		e.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), checker,
	)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "policyQueue", stringKey)
}

// schemas are the schemas of kinds: of built-in ones as they were compiled in, of others as the API publishes them. The
// former take some 20 ms to lay out, which is done when a policy asks.
type schemas struct {
	all func() resolver.SchemaResolver
}

func newSchemas(client discovery.DiscoveryInterface) schemas {
	return schemas{all: sync.OnceValue(func() resolver.SchemaResolver {
		return resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme).
			Combine(&resolver.ClientDiscoveryResolver{Discovery: client})
	})}
}

// ResolveSchema implements resolver.SchemaResolver.
func (s schemas) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	return s.all().ResolveSchema(gvk)
}
