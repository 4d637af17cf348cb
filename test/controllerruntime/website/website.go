// Package website is a small operator as one would write it for a cluster: an API, a reconciler and the registration
// with a controller-runtime manager. It knows nothing of the sandbox. It is an example and a test subject, not a
// product.
package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API of this package.
var GroupVersion = schema.GroupVersion{Group: "example.kubectl-reconcile.github.io", Version: "v1"}

// AddToScheme adds Website and WebsiteList to a scheme. It never fails.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Website serves the files of a ConfigMap at a host name. crd.yaml holds its validation and its defaults.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec is what is wanted.
type Spec struct {
	// Host is the site's name; it cannot be changed.
	Host string `json:"host"`
	// Content names the ConfigMap with the files, in the namespace of the Website.
	Content string `json:"content"`
	// Tier is test, the default, or production. Only production may have more than 3 replicas.
	Tier string `json:"tier,omitempty"`
	// Replicas is the number of web servers; nil is 1.
	Replicas *int32 `json:"replicas,omitempty"`
}

// Status is what was found. Only the reconciler writes it.
type Status struct {
	// ObservedGeneration is the generation that the rest of the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ReadyReplicas is the number of web servers that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Conditions has Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Website `json:"items"`
}
