package ownertree

import (
	"errors"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/ptr"
)

// core is a reference to an object of the core group by its name.
func core(kind, namespace, name, verb, inverse string) reference {
	to := schema.GroupKind{Kind: kind}
	return reference{relation: verb, inverse: inverse, to: to, namespace: namespace, name: name}
}

func class(group, kind, name string) reference {
	to := schema.GroupKind{Group: group, Kind: kind}
	return reference{relation: "of class", inverse: "class of", to: to, name: name}
}

func serviceReferences(s *corev1.Service) []reference {
	if len(s.Spec.Selector) == 0 {
		return nil // its endpoints are kept by another controller
	}
	selector := labels.SelectorFromSet(s.Spec.Selector)
	ref := core("Pod", s.Namespace, "", "selects", "selected by")
	ref.match = &matcher{labels: selector}
	return []reference{ref}
}

func sliceReferences(s *discoveryv1.EndpointSlice) []reference {
	name := s.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return nil
	}
	ref := core("Service", s.Namespace, name, "has endpoints in", "has endpoints of")
	ref.backward = true
	return []reference{ref}
}

func ingressReferences(i *networkingv1.Ingress) []reference {
	var out []reference
	backend := func(b *networkingv1.IngressBackend) {
		switch {
		case b == nil:
		case b.Service != nil:
			out = append(out, core("Service", i.Namespace, b.Service.Name, "routes to", "routed to by"))
		case b.Resource != nil:
			ref := core(b.Resource.Kind, i.Namespace, b.Resource.Name, "routes to", "routed to by")
			if b.Resource.APIGroup != nil {
				ref.to.Group = *b.Resource.APIGroup
			}
			out = append(out, ref)
		}
	}
	backend(i.Spec.DefaultBackend)
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			backend(&rule.HTTP.Paths[j].Backend)
		}
	}
	for _, tls := range i.Spec.TLS {
		if tls.SecretName != "" {
			out = append(out, core("Secret", i.Namespace, tls.SecretName, "has TLS from", "TLS of"))
		}
	}
	if name := i.Spec.IngressClassName; name != nil {
		out = append(out, class("networking.k8s.io", "IngressClass", *name))
	}
	return out
}

func ingressClassReferences(c *networkingv1.IngressClass) []reference {
	p := c.Spec.Parameters
	if p == nil {
		return nil
	}
	ref := reference{
		relation: "has parameters in", inverse: "parameters of",
		to:        schema.GroupKind{Group: ptr.Deref(p.APIGroup, ""), Kind: p.Kind},
		namespace: ptr.Deref(p.Namespace, ""), name: p.Name,
	}
	return []reference{ref}
}

// policyReferences: an empty selector selects all pods. The peers that a policy lets through are left out.
func policyReferences(p *networkingv1.NetworkPolicy) []reference {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		return nil
	}
	ref := core("Pod", p.Namespace, "", "restricts", "restricted by")
	ref.match = &matcher{labels: selector}
	return []reference{ref}
}

func autoscalerReferences(h *autoscalingv2.HorizontalPodAutoscaler) []reference {
	target := h.Spec.ScaleTargetRef
	gvk := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind)
	return []reference{{
		relation: "scales", inverse: "scaled by", to: gvk.GroupKind(), version: gvk.Version,
		namespace: h.Namespace, name: target.Name,
	}}
}

// budgetReferences: of policy/v1 an empty selector selects all pods, and none selects none.
func budgetReferences(b *policyv1.PodDisruptionBudget) []reference {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil
	}
	ref := core("Pod", b.Namespace, "", "protects", "protected by")
	ref.match = &matcher{labels: selector}
	return []reference{ref}
}

// statefulSetReferences: claims are named after the template, the set and a number. It mirrors
// getPersistentVolumeClaimName of k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go.
func statefulSetReferences(s *appsv1.StatefulSet) []reference {
	var out []reference
	if s.Spec.ServiceName != "" {
		ref := core("Service", s.Namespace, s.Spec.ServiceName, "names its pods by", "names the pods of")
		ref.optional = true // its pods run without it, and have no names in DNS
		out = append(out, ref)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		ref := core("PersistentVolumeClaim", s.Namespace, "", "claims", "claimed by")
		ref.match = &matcher{prefix: s.Spec.VolumeClaimTemplates[i].Name + "-" + s.Name + "-"}
		out = append(out, ref)
	}
	return out
}

func accountReferences(a *corev1.ServiceAccount) []reference {
	var out []reference
	for _, s := range a.Secrets {
		out = append(out, core("Secret", a.Namespace, s.Name, "has token", "token of"))
	}
	for _, s := range a.ImagePullSecrets {
		out = append(out, core("Secret", a.Namespace, s.Name, "pulls images with", "pulls images for"))
	}
	return out
}

// serviceName is where an API server sends requests to.
type serviceName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// to is the reference to the Service; none if there is none, but a URL.
func (s *serviceName) to(verb, inverse string) []reference {
	if s == nil || s.Name == "" {
		return nil
	}
	return []reference{core("Service", s.Namespace, s.Name, verb, inverse)}
}

func calls(c *admissionv1.WebhookClientConfig) []reference {
	if c.Service == nil {
		return nil
	}
	return (&serviceName{c.Service.Namespace, c.Service.Name}).to("calls", "called by")
}

func validatingReferences(c *admissionv1.ValidatingWebhookConfiguration) []reference {
	var out []reference
	for i := range c.Webhooks {
		out = append(out, calls(&c.Webhooks[i].ClientConfig)...)
	}
	return out
}

func mutatingReferences(c *admissionv1.MutatingWebhookConfiguration) []reference {
	var out []reference
	for i := range c.Webhooks {
		out = append(out, calls(&c.Webhooks[i].ClientConfig)...)
	}
	return out
}

var errNoProtobuf = errors.New("protobuf, which was not asked for")

// apiService is what is of interest of an APIService of k8s.io/kube-aggregator.
type apiService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Service *serviceName `json:"service"`
	} `json:"spec"`
}

// Unmarshal implements cluster.Typed.
func (*apiService) Unmarshal([]byte) error { return errNoProtobuf }

// DeepCopyObject implements runtime.Object.
func (a *apiService) DeepCopyObject() runtime.Object {
	out := *a
	out.ObjectMeta = *a.DeepCopy()
	return &out
}

func apiServiceReferences(a *apiService) []reference { return a.Spec.Service.to("served by", "serves") }

// definitionObject is what is of interest of a CustomResourceDefinition of k8s.io/apiextensions-apiserver, whose
// schemas are large.
type definitionObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Conversion struct {
			Webhook struct {
				ClientConfig struct {
					Service *serviceName `json:"service"`
				} `json:"clientConfig"`
			} `json:"webhook"`
		} `json:"conversion"`
	} `json:"spec"`
}

// Unmarshal implements cluster.Typed.
func (*definitionObject) Unmarshal([]byte) error { return errNoProtobuf }

// DeepCopyObject implements runtime.Object.
func (d *definitionObject) DeepCopyObject() runtime.Object {
	out := *d
	out.ObjectMeta = *d.DeepCopy()
	return &out
}

func definitionReferences(d *definitionObject) []reference {
	return d.Spec.Conversion.Webhook.ClientConfig.Service.to("converted by", "converts")
}

func roleBindingReferences(b *rbacv1.RoleBinding) []reference {
	return bindingReferences(b.Namespace, b.RoleRef, b.Subjects)
}

func clusterRoleBindingReferences(b *rbacv1.ClusterRoleBinding) []reference {
	return bindingReferences("", b.RoleRef, b.Subjects)
}

func bindingReferences(namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) []reference {
	kind := schema.GroupKind{Group: rbacv1.GroupName, Kind: role.Kind}
	to := reference{relation: "grants", inverse: "granted by", to: kind, name: role.Name}
	if role.Kind == "Role" {
		to.namespace = namespace
	}
	out := []reference{to}
	for _, s := range subjects {
		if ref, ok := subjectReference(s); ok {
			out = append(out, ref)
		}
	}
	return out
}

// subjectReference is the accounts that a subject names: one, or those of a group; false if it names
// none. The names of users and groups are those of k8s.io/apiserver/pkg/authentication/serviceaccount.
func subjectReference(s rbacv1.Subject) (reference, bool) {
	ref := core(serviceAccount.Kind, s.Namespace, s.Name, "granted rights by", "grants to")
	ref.backward = true
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return ref, strings.TrimSpace(s.Name) != ""
	case rbacv1.UserKind:
		var err error
		ref.namespace, ref.name, err = serviceaccount.SplitUsername(s.Name)
		return ref, err == nil
	case rbacv1.GroupKind:
		ref.inverse, ref.name, ref.match = "grants to its group", "", &matcher{labels: labels.Everything()}
		if namespace, ok := strings.CutPrefix(s.Name, serviceaccount.ServiceAccountGroupPrefix); ok {
			ref.namespace = namespace
			return ref, true
		}
		ref.namespace, ref.ifAsked = allNamespaces, true
		return ref, s.Name == serviceaccount.AllServiceAccountsGroup || s.Name == user.AllAuthenticated
	}
	return reference{}, false
}

// clusterRoleReferences are the roles whose rules a role is made of
// (k8s.io/kubernetes/pkg/controller/clusterroleaggregation).
func clusterRoleReferences(r *rbacv1.ClusterRole) []reference {
	if r.AggregationRule == nil {
		return nil
	}
	var out []reference
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			continue
		}
		out = append(out, reference{
			relation: "aggregates", inverse: "aggregated into",
			to:    schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"},
			match: &matcher{labels: selector},
		})
	}
	return out
}
