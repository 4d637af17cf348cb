package controllers

import (
	"context"
	"fmt"
	"sync"

	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// disruptionController mirrors newDisruptionController of k8s.io/kubernetes/cmd/kube-controller-manager/app/policy.go.
func disruptionController() Controller {
	return Controller{
		Name:    names.DisruptionController,
		Short:   "disruption",
		Aliases: []string{"disruption"},
		Reads: []schema.GroupResource{
			{Resource: "pods"}, {Group: "policy", Resource: "poddisruptionbudgets"},
			{Resource: "replicationcontrollers"}, {Group: "apps", Resource: "replicasets"},
			{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "statefulsets"},
		},
		Writes:     []schema.GroupResource{{Group: "policy", Resource: "poddisruptionbudgets"}, {Resource: "pods"}},
		Needs:      []Need{NeedsMapper, NeedsScale},
		Keys:       []ObjectKind{{"policy", "PodDisruptionBudget", "poddisruptionbudgets"}},
		MakesReady: true,
		workers:    1,
		build:      buildDisruption,
	}
}

// buildDisruption taps all three queues: of budgets, of budgets to be checked again, and of pods whose disruption is
// stale.
func buildDisruption(ctx context.Context, e environment) (runFunc, error) {
	discoverer := e.client.Discovery()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	scales, err := scale.NewForConfig(e.config, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(discoverer))
	if err != nil {
		return nil, fmt.Errorf("making the scale client: %w", err)
	}
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c := disruption.NewDisruptionController(
		ctx, core.Pods(), e.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), e.client, mapper, scales, discoverer,
	)
	return c.Run, e.tapQueues(c, "queue", "recheckQueue", "stalePodDisruptionQueue")
}

// policyStatusController mirrors newValidatingAdmissionPolicyStatusController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/validatingadmissionpolicystatus.go.
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

func buildPolicyStatus(_ context.Context, e environment) (runFunc, error) {
	checker := &validating.TypeChecker{SchemaResolver: newKindSchemas(e.client.Discovery()), RestMapper: newMapper(e)}
	c, err := validatingadmissionpolicystatus.NewController(
		e.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		e.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), checker,
	)
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "policyQueue")
}

// kindSchemas resolves the schemas of kinds: of built-in ones from what is compiled in, of others from what the API
// publishes. The former take some 20 ms to build, which is done when a policy is checked first.
type kindSchemas struct {
	all func() resolver.SchemaResolver
}

func newKindSchemas(client discovery.DiscoveryInterface) kindSchemas {
	return kindSchemas{all: sync.OnceValue(func() resolver.SchemaResolver {
		return resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme,
			apiextensionsscheme.Scheme).
			Combine(&resolver.ClientDiscoveryResolver{Discovery: client})
	})}
}

// ResolveSchema implements resolver.SchemaResolver.
func (s kindSchemas) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	return s.all().ResolveSchema(gvk)
}
