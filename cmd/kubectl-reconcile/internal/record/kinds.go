package record

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// defaultResources are what is recorded without types, besides custom resources: what the controllers of workloads,
// of their storage and of their networks work on and read, and Events. Leases are left out: they are heartbeats.
var defaultResources = map[schema.GroupResource]bool{
	{Resource: "pods"}: true, {Resource: "services"}: true, {Resource: "endpoints"}: true,
	{Resource: "configmaps"}: true, {Resource: "secrets"}: true, {Resource: "serviceaccounts"}: true,
	{Resource: "persistentvolumeclaims"}: true, {Resource: "persistentvolumes"}: true,
	{Resource: "nodes"}: true, {Resource: "namespaces"}: true, {Resource: "events"}: true,
	{Resource: "resourcequotas"}: true, {Resource: "limitranges"}: true,
	{Resource: "replicationcontrollers"}: true, {Resource: "podtemplates"}: true,

	{Group: "apps", Resource: "deployments"}: true, {Group: "apps", Resource: "replicasets"}: true,
	{Group: "apps", Resource: "statefulsets"}: true, {Group: "apps", Resource: "daemonsets"}: true,
	{Group: "apps", Resource: "controllerrevisions"}: true,
	{Group: "batch", Resource: "jobs"}:               true, {Group: "batch", Resource: "cronjobs"}: true,
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: true,
	{Group: "policy", Resource: "poddisruptionbudgets"}:          true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:      true,

	{Group: "networking.k8s.io", Resource: "ingresses"}:       true,
	{Group: "networking.k8s.io", Resource: "ingressclasses"}:  true,
	{Group: "networking.k8s.io", Resource: "networkpolicies"}: true,
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:    true,
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:     true,

	{Group: "storage.k8s.io", Resource: "storageclasses"}:           true,
	{Group: "storage.k8s.io", Resource: "csinodes"}:                 true,
	{Group: "storage.k8s.io", Resource: "csidrivers"}:               true,
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}:     true,
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:        true,
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}:  true,
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:       true,
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:          true,
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}:  true,
	{Group: "resource.k8s.io", Resource: "resourceslices"}:          true,
	{Group: "resource.k8s.io", Resource: "deviceclasses"}:           true,
	{Group: "apiextensions.k8s.io", Resource: crdResource.Resource}: true,
}

// crdResource are the definitions of custom resources.
var crdResource = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// everything is the argument for all kinds. The category all of kubectl has few of them.
const everything = "all"

// request is what is to be recorded, before it is known what is served.
type request struct {
	// named are the types and objects that were named; none for the default ones.
	named []named
	// namespace is empty for all.
	namespace      string
	labels, fields string
}

// named is TYPE or TYPE/NAME.
type named struct{ typeName, name string }

func parseNamed(word string) (named, error) {
	typeName, name, slash := strings.Cut(word, "/")
	switch {
	case word == "":
		return named{}, errors.New("a type is empty")
	case slash && (typeName == "" || name == "" || strings.Contains(name, "/") || typeName == everything):
		return named{}, fmt.Errorf("%q must be TYPE or TYPE/NAME", word)
	}
	return named{typeName, name}, nil
}

// all reports whether all kinds are to be recorded.
func (r *request) all() bool { return len(r.named) == 1 && r.named[0].typeName == everything }

func (r *request) validate(allNamespaces bool) error {
	for _, n := range r.named {
		switch {
		case n.typeName == everything && len(r.named) > 1:
			return errors.New("all has every kind: no other type can be named beside it")
		case n.name != "" && allNamespaces:
			return cli.WithHint(errors.New("a resource cannot be recorded by name across all namespaces"),
				"select its namespace by -n NAMESPACE; -A --field-selector metadata.name=NAME finds all of that name")
		case n.name != "" && (r.labels != "" || r.fields != ""):
			return errors.New("a name cannot be given when a selector is specified")
		}
	}
	return nil
}

// selections returns what is to be recorded of the kinds that are served.
func (r *request) selections(kinds *cluster.Kinds) ([]recorder.Selection, error) {
	if len(r.named) == 0 || r.all() {
		return r.chosen(kinds), nil
	}
	var out []recorder.Selection // the recorder leaves out those that are named twice
	for _, n := range r.named {
		found, err := kinds.ResolveAll(n.typeName)
		if err != nil {
			return nil, err
		}
		for _, kind := range found {
			if !recordable(&kind) {
				if len(found) > 1 {
					continue // of a category
				}
				return nil, fmt.Errorf("%s can not be recorded: the server does not let it be listed and watched",
					kind.GroupResource())
			}
			s := recorder.Selection{Target: r.target(kind), Labels: r.labels, Fields: r.fields}
			if n.name != "" {
				s.Fields = metav1.ObjectNameField + "=" + n.name
			}
			out = append(out, s)
			if definition, ok := definitionOf(kinds, &kind); ok {
				out = append(out, definition)
			}
		}
	}
	return out, nil
}

// chosen returns the default kinds, or all that can be recorded. Selectors are for namespaced objects other than
// Events: what controllers need besides is of no use in part.
func (r *request) chosen(kinds *cluster.Kinds) []recorder.Selection {
	var out []recorder.Selection
	for _, kind := range kinds.All() {
		resource := kind.GroupResource()
		sameAsCore := resource == schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
		if !recordable(&kind) || sameAsCore || !r.all() && !defaultResources[resource] && isBuiltIn(&kind) {
			continue
		}
		s := recorder.Selection{Target: r.target(kind)}
		switch {
		case kind.Namespaced && resource != schema.GroupResource{Resource: "events"}:
			s.Labels, s.Fields = r.labels, r.fields
		case resource == schema.GroupResource{Resource: "namespaces"} && r.namespace != "":
			s.Fields = metav1.ObjectNameField + "=" + r.namespace
		}
		out = append(out, s)
	}
	return out
}

// target returns the target of a kind: its namespace is empty for cluster-scoped kinds.
func (r *request) target(kind cluster.Kind) cluster.Target {
	t := cluster.Target{Kind: kind}
	if kind.Namespaced {
		t.Namespace = r.namespace
	}
	return t
}

// recordable reports whether a kind can be recorded.
func recordable(kind *cluster.Kind) bool { return kind.Can("list") && kind.Can("watch") }

// isBuiltIn reports whether a kind is Kubernetes' own, rather than that of a CustomResourceDefinition or of another API
// server.
func isBuiltIn(kind *cluster.Kind) bool {
	return scheme.Scheme.IsGroupRegistered(kind.Group) || kind.Group == crdResource.Group ||
		kind.Group == "apiregistration.k8s.io"
}

// definitionOf returns the selection of the definition of a custom resource: false if the kind is built in.
func definitionOf(kinds *cluster.Kinds, kind *cluster.Kind) (recorder.Selection, bool) {
	if isBuiltIn(kind) {
		return recorder.Selection{}, false
	}
	definitions, err := kinds.Resolve(crdResource.String())
	if err != nil || definitions.GroupResource() != crdResource {
		return recorder.Selection{}, false
	}
	return recorder.Selection{
		Target: cluster.Target{Kind: definitions}, Fields: metav1.ObjectNameField + "=" + kind.GroupResource().String(),
	}, true
}
