// Package v2 is the API of storefronts that is stored: v1 is converted to it and from it.
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// GroupVersion is the group and version of the types.
var GroupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v2"}

// AddToScheme adds the types to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Storefront{}, &StorefrontList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Image is the image of a storefront.
type Image struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
}

// StorefrontSpec is what a storefront should be.
type StorefrontSpec struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Image    Image  `json:"image"`
	// Currency must not be changed.
	Currency string `json:"currency,omitempty"`
}

// StorefrontStatus is what a storefront is.
type StorefrontStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Storefront is a shop that customers see.
type Storefront struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StorefrontSpec   `json:"spec,omitempty"`
	Status StorefrontStatus `json:"status,omitempty"`
}

var _ conversion.Hub = (*Storefront)(nil)

// Hub implements conversion.Hub.
func (*Storefront) Hub() {}

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
