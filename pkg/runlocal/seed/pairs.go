package seed

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// keepPairs removes what stands for something that is not in the copy, where controllers would act on that: a volume
// whose claim is not there would be released, an address whose Service is not there would be freed, and the Lease of a
// node that is not there has no use. One that cannot be decoded is kept: the session that loads it reports that.
func (r *reading) keepPairs() {
	for k, object := range r.objects {
		var keep bool
		switch k.resource {
		case volumes:
			var volume struct {
				Spec struct {
					ClaimRef *corev1.ObjectReference `json:"claimRef"`
				} `json:"spec"`
			}
			err := json.Unmarshal(object.JSON, &volume)
			claim := volume.Spec.ClaimRef
			keep = err != nil || claim == nil || r.has(claim.Namespace) &&
				!r.unrelated[key{claims, claim.Namespace, claim.Name}]
		case ipAddresses:
			var address struct {
				Spec struct {
					ParentRef struct {
						Resource  string `json:"resource"`
						Namespace string `json:"namespace"`
						Name      string `json:"name"`
					} `json:"parentRef"`
				} `json:"spec"`
			}
			err := json.Unmarshal(object.JSON, &address)
			of := address.Spec.ParentRef
			keep = err != nil || r.has(of.Namespace) &&
				!r.unrelated[key{schema.GroupResource{Resource: of.Resource}, of.Namespace, of.Name}]
		case leases:
			_, keep = r.objects[key{resource: nodes, name: object.Name}]
			keep = keep || object.Namespace != corev1.NamespaceNodeLease
		default:
			continue
		}
		if !keep {
			delete(r.objects, k)
		}
	}
}

// has reports whether a namespace is copied.
func (r *reading) has(namespace string) bool {
	return r.o.AllNamespaces || slices.Contains(r.namespaces, namespace)
}

// leaveOutWebhooks removes the configurations of admission webhooks, and records those that may have any.
func (r *reading) leaveOutWebhooks() {
	for k, object := range r.objects {
		if k.resource.Group != admissionGroup || k.resource.Resource != "validatingwebhookconfigurations" &&
			k.resource.Resource != "mutatingwebhookconfigurations" {
			continue
		}
		var configuration struct {
			Webhooks []struct{} `json:"webhooks"`
		}
		err := json.Unmarshal(object.JSON, &configuration)
		delete(r.objects, k)
		if err != nil || len(configuration.Webhooks) > 0 {
			r.leaveOut(LeftOut{
				Group: k.resource.Group, Resource: k.resource.Resource, Name: k.name,
				Objects: len(configuration.Webhooks), Reason: ReasonWebhook,
				Message: "webhooks are not called by writes to a copy",
			})
		}
	}
}

// policy is what Read looks at of admission policies and their bindings.
type policy struct {
	Spec struct {
		ParamKind *struct {
			APIVersion string `json:"apiVersion"`
		} `json:"paramKind"`
		PolicyName string `json:"policyName"`
		ParamRef   *struct {
			Namespace string `json:"namespace"`
		} `json:"paramRef"`
	} `json:"spec"`
}

// leaveOutPolicies removes the bindings of admission policies whose parameters are custom resources, or in a namespace
// that is not copied, and of such policies: without their parameters they would refuse, or permit, what they do not in
// the cluster.
func (r *reading) leaveOutPolicies() {
	custom := map[key]bool{}
	for k, object := range r.objects {
		if p, ok := policyOf(k, &object); ok && p.Spec.ParamKind != nil {
			gv, err := schema.ParseGroupVersion(p.Spec.ParamKind.APIVersion)
			custom[k] = err != nil || !api.BuiltIn(gv.Group)
		}
	}
	for k, object := range r.objects {
		p, ok := policyOf(k, &object)
		if !ok || p.Spec.PolicyName == "" {
			continue
		}
		of := key{resource: k.resource, name: p.Spec.PolicyName}
		of.resource.Resource = policyResource(k.resource.Resource)
		elsewhere := p.Spec.ParamRef != nil && p.Spec.ParamRef.Namespace != "" && !r.has(p.Spec.ParamRef.Namespace)
		if custom[of] || elsewhere {
			delete(r.objects, k)
			r.leaveOut(LeftOut{
				Group: k.resource.Group, Resource: k.resource.Resource, Name: k.name,
				Objects: 1, Reason: ReasonParameters,
				Message: fmt.Sprintf("policy %q has parameters that are not in the copy", p.Spec.PolicyName),
			})
		}
	}
}

// policyResource returns the resource of policies for that of their bindings.
func policyResource(bindings string) string {
	if bindings == "mutatingadmissionpolicybindings" {
		return "mutatingadmissionpolicies"
	}
	return "validatingadmissionpolicies"
}

// policyOf decodes an admission policy or binding; false if the object is none.
func policyOf(k key, object *Object) (p policy, ok bool) {
	if k.resource.Group != admissionGroup {
		return p, false
	}
	return p, json.Unmarshal(object.JSON, &p) == nil
}
