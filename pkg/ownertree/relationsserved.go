package ownertree

import (
	"errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
