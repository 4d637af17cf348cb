package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// webhook is an admission webhook, and what answers for it.
type webhook struct {
	// configuration is its kind and name, and ignores reports whether its failures are ignored.
	configuration inspect.Reference
	ignores       bool
	// service is the Service that it calls; nil if it calls a URL, which url is then.
	service *inspect.Reference
	url     string
	// state is what is wrong with the Service, or how many endpoints it has; empty if that could not be read.
	state string
	// broken reports that the Service cannot answer, gone that there is no such webhook.
	broken, gone bool
}

// webhookOf is the name of the webhook that a cause is about.
func webhookOf(c *inspect.Cause) (string, bool) {
	if c.Type != inspect.WebhookUnreachable && c.Type != inspect.AdmissionDenied {
		return "", false
	}
	return strings.CutPrefix(c.Part, "webhook ")
}

// configurations looks for webhooks in the two lists that there are of them.
func (r *situationReader) configurations(ctx context.Context, names []string) {
	found := func(kind, configuration, name string, config admissionv1.WebhookClientConfig,
		policy *admissionv1.FailurePolicyType) {
		if !slices.Contains(names, name) || r.webhooks[name] != nil {
			return
		}
		hook := &webhook{
			configuration: inspect.Reference{Group: admissionv1.GroupName, Kind: kind, Name: configuration},
			ignores:       policy != nil && *policy == admissionv1.Ignore,
		}
		if config.Service != nil {
			hook.service = &inspect.Reference{
				Kind: "Service", Namespace: config.Service.Namespace, Name: config.Service.Name,
			}
		} else if config.URL != nil {
			hook.url = *config.URL
		}
		r.webhooks[name] = hook
	}
	each := func(object cluster.Typed) error {
		switch c := object.(type) {
		case *admissionv1.ValidatingWebhookConfiguration:
			for i := range c.Webhooks {
				h := &c.Webhooks[i]
				found("ValidatingWebhookConfiguration", c.Name, h.Name, h.ClientConfig, h.FailurePolicy)
			}
		case *admissionv1.MutatingWebhookConfiguration:
			for i := range c.Webhooks {
				h := &c.Webhooks[i]
				found("MutatingWebhookConfiguration", c.Name, h.Name, h.ClientConfig, h.FailurePolicy)
			}
		}
		return nil
	}
	unread := len(r.unread)
	for _, list := range []struct {
		kind  string
		fresh func() cluster.Typed
	}{
		{
			"ValidatingWebhookConfiguration",
			func() cluster.Typed { return &admissionv1.ValidatingWebhookConfiguration{} },
		},
		{"MutatingWebhookConfiguration", func() cluster.Typed { return &admissionv1.MutatingWebhookConfiguration{} }},
	} {
		kind := r.kind(admissionv1.GroupName, list.kind)
		if kind == nil {
			continue
		}
		target := cluster.Target{Kind: *kind}
		if err := r.reader.ListTyped(ctx, target, cluster.ListOptions{}, list.fresh, each); err != nil {
			r.unread = append(r.unread, target.Incomplete(err))
		}
	}
	for _, name := range names {
		if r.webhooks[name] == nil && len(r.unread) == unread {
			r.webhooks[name] = &webhook{gone: true}
		}
	}
}

// stateOf reads whether the Service of a webhook can answer.
func (r *situationReader) stateOf(ctx context.Context, hook *webhook) {
	services, endpoints := r.kind("", "Service"), r.kind(discoveryv1.GroupName, "EndpointSlice")
	if services == nil || endpoints == nil {
		return
	}
	_, err := r.reader.Metadata(ctx, *services, hook.service.Namespace, hook.service.Name)
	switch {
	case apierrors.IsNotFound(err):
		hook.state, hook.broken = "does not exist", true
		return
	case err != nil:
		target := cluster.Target{Kind: *services, Namespace: hook.service.Namespace}
		r.unread = append(r.unread, target.Incomplete(err))
		return
	}
	ready, all := 0, 0
	target := cluster.Target{Kind: *endpoints, Namespace: hook.service.Namespace}
	options := cluster.ListOptions{Labels: discoveryv1.LabelServiceName + "=" + hook.service.Name}
	err = r.reader.ListObjects(ctx, target, options, func(obj *unstructured.Unstructured) error {
		var slice discoveryv1.EndpointSlice
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &slice); err != nil {
			return fmt.Errorf("reading EndpointSlice %q: %w", obj.GetName(), err)
		}
		for _, e := range slice.Endpoints {
			all++
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
		return nil
	})
	switch {
	case err != nil:
		r.unread = append(r.unread, target.Incomplete(err))
	case all == 0:
		hook.state, hook.broken = "has no endpoints", true
	case ready == 0:
		hook.state, hook.broken = fmt.Sprintf("has no ready endpoint, of %d", all), true
	default:
		hook.state = fmt.Sprintf("%d of its %d endpoints are ready", ready, all)
	}
}

// nameWebhook adds to a cause how the webhook that it is about is configured, and whether what that calls can answer.
func (d *diagnoser) nameWebhook(c *inspect.Cause) {
	name, ok := webhookOf(c)
	hook := d.webhooks[name]
	if !ok || hook == nil || hook.gone {
		return
	}
	config := inspect.Evidence{
		Source: inspect.FromObject, Name: hook.configuration.Kind + "/" + hook.configuration.Name,
		Text: "its failures are not ignored",
	}
	if hook.ignores {
		config.Text = "its failures are ignored"
	}
	refers := hook.configuration
	switch {
	case hook.service != nil:
		config.Text = "calls Service/" + hook.service.Name + " of namespace " + hook.service.Namespace +
			"; " + config.Text
	case hook.url != "":
		config.Text = "calls " + hook.url + "; " + config.Text
	}
	c.Evidence = append(c.Evidence, config)
	if c.Type == inspect.WebhookUnreachable && hook.service != nil && hook.state != "" {
		c.Evidence = append(c.Evidence, inspect.Evidence{
			Source: inspect.FromObject, Name: "Service/" + hook.service.Name, Text: hook.state,
		})
		if hook.broken {
			refers = *hook.service
			c.Detail = "Service/" + hook.service.Name + " of namespace " + hook.service.Namespace + " " + hook.state
		}
	}
	c.Refers = &refers
}
