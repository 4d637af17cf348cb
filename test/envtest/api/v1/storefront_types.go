// Package v1 is the first API of storefronts, in which an image is one string.
package v1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v2 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v2"
)

// GroupVersion is the group and version of the types.
var GroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Storefront{}, &StorefrontList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// StorefrontSpec is what a storefront should be.
type StorefrontSpec struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Image    string `json:"image"`
}

// Storefront is a shop that customers see.
type Storefront struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StorefrontSpec      `json:"spec,omitempty"`
	Status v2.StorefrontStatus `json:"status,omitempty"`
}

var _ conversion.Convertible = (*Storefront)(nil)

// currency is the annotation that keeps what v1 has no field for.
const currency = "shop.example.com/currency"

// ConvertTo implements conversion.Convertible.
func (s *Storefront) ConvertTo(hub conversion.Hub) error {
	out := hub.(*v2.Storefront)
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Replicas = s.Spec.Replicas
	out.Spec.Image.Repository, out.Spec.Image.Tag, _ = strings.Cut(s.Spec.Image, ":")
	out.Spec.Currency = s.Annotations[currency]
	delete(out.Annotations, currency)
	out.Status = s.Status
	return nil
}

// ConvertFrom implements conversion.Convertible.
func (s *Storefront) ConvertFrom(hub conversion.Hub) error {
	in := hub.(*v2.Storefront)
	in.ObjectMeta.DeepCopyInto(&s.ObjectMeta)
	s.Spec.Replicas, s.Spec.Image = in.Spec.Replicas, in.Spec.Image.Repository
	if in.Spec.Image.Tag != "" {
		s.Spec.Image += ":" + in.Spec.Image.Tag
	}
	if in.Spec.Currency != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, currency, in.Spec.Currency)
	}
	s.Status = in.Status
	return nil
}

// DeepCopyObject implements runtime.Object.
func (s *Storefront) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if s.Spec.Replicas != nil {
		out.Spec.Replicas = new(*s.Spec.Replicas)
	}
	out.Status.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	return &out
}

// StorefrontList is a list of storefronts.
type StorefrontList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Storefront `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *StorefrontList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Storefront, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Storefront)
	}
	return &out
}
