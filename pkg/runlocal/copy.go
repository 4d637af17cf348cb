package runlocal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// CopyReport is what a session that begins with a copy of a cluster does without, beside what the copy itself has not:
// see seed.Copy.Incomplete and LeftOut.
type CopyReport struct {
	// Controllers are those of Options.Controllers that do not run, and why.
	Controllers []controllers.SkippedController
	// Unloaded are objects of the copy that the API of the session does not have, and why.
	Unloaded []api.UnloadedObject
}

// CopyReport returns what the session does without because it begins with a copy. It is zero if it does not.
func (s *Session) CopyReport() CopyReport { return s.copyReport }

// beginWith makes the options those of a session that begins with Options.Copy.
func (s *Session) beginWith(o *Options) {
	objects := make([]api.StoredObject, len(o.Copy.Objects))
	for i := range o.Copy.Objects {
		object := &o.Copy.Objects[i]
		objects[i] = api.StoredObject{
			Kind: object.Kind.GroupVersionKind, Resource: object.Kind.Resource, JSON: object.JSON,
		}
	}
	o.API.Objects, o.API.ResourceVersion, o.API.ServiceRanges = objects, o.Copy.ResourceVersion, o.Copy.ServiceRanges
	o.API.CheckObjects = o.Copy.FromFiles
	if o.Copy.Usage != nil {
		o.API.Metrics = o.Copy.Usage
	}
	o.Controllers, s.copyReport.Controllers = ControllersForCopy(o.Copy, o.Controllers)
}

// ControllersForCopy divides controllers into those that a session runs in a copy and those that it leaves out, because
// they would act on what the copy does not have, or in the place of the cluster's own authorities.
func ControllersForCopy(
	c *seed.Copy, selected []controllers.Controller,
) (run []controllers.Controller, left []controllers.SkippedController) {
	for _, controller := range selected {
		if reason := skipInCopy(c, controller); reason != "" {
			left = append(left, controllers.SkippedController{Controller: controller, Reason: reason})
		} else {
			run = append(run, controller)
		}
	}
	return run, left
}

// NeverInCopy reports whether a controller runs in no copy, whatever that has.
func NeverInCopy(controller controllers.Controller) bool { return neverInCopy(controller.Name) != "" }

// neverInCopy returns why the controller of that name runs in no copy; empty if it may.
func neverInCopy(name string) string {
	switch name {
	case names.RootCACertificatePublisherController, names.KubeAPIServerClusterTrustBundlePublisherController:
		return "it would publish the certificate of the copy's API in place of the cluster's"
	case names.ServiceAccountTokenController, names.LegacyServiceAccountTokenCleanerController,
		names.TokenCleanerController, names.BootstrapSignerController:
		return "it works on tokens, which are the cluster's"
	case names.CertificateSigningRequestApprovingController, names.CertificateSigningRequestSigningController,
		names.CertificateSigningRequestCleanerController, names.PodCertificateRequestCleanerController:
		return "it works on certificates, which the cluster's authority signs"
	}
	return ""
}

// skipInCopy returns why a controller is not to run in a copy; empty if it may.
func skipInCopy(c *seed.Copy, controller controllers.Controller) string {
	if reason := neverInCopy(controller.Name); reason != "" {
		return reason
	}
	switch controller.Name {
	case names.NamespaceController:
		if unread := c.Incomplete; len(unread) > 0 {
			return "it would take a namespace for empty, as " + unreadText(unread[0]) + " could not be read"
		}
	case names.ResourceQuotaController:
		if reason := uncounted(c); reason != "" {
			return reason
		}
	case names.HorizontalPodAutoscalerController:
		autoscalers := schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
		if c.Usage == nil && c.HasKind(autoscalers) {
			return "the copy does not have the metrics that it decides by"
		}
	}
	for _, resource := range controller.Reads {
		if resource.Group != "*" && resource != leaseResource && c.Unread(resource) {
			return fmt.Sprintf("it reads %s, which could not be read", resource)
		}
	}
	return ""
}

// leaseResource is the resource of Leases. Those of nodes are made in a copy that does not have them.
var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func unreadText(i cluster.Incomplete) string {
	if i.Resource == "" {
		return "the kinds of " + i.Group
	}
	return schema.GroupResource{Group: i.Group, Resource: i.Resource}.String()
}

// uncounted returns why quotas cannot be counted; empty if they can: all that a quota of the copy counts is in it.
func uncounted(c *seed.Copy) string {
	for i := range c.Objects {
		object := &c.Objects[i]
		if object.Kind.GroupResource() != (schema.GroupResource{Resource: "resourcequotas"}) {
			continue
		}
		quota, err := object.Unstructured()
		if err != nil {
			continue // the API will not have it either
		}
		hard, _ := quota.Object["spec"].(map[string]any)
		limits, _ := hard["hard"].(map[string]any)
		for name := range limits {
			if counted := countedBy(name); c.Unread(counted) || seed.NeverRead(counted) {
				return fmt.Sprintf("quota %q counts %s, which are not all in the copy", quota.GetName(), counted)
			}
		}
	}
	return ""
}

// countedBy returns the resource that a limit of a quota counts: "count/deployments.apps", "requests.storage".
func countedBy(limit string) schema.GroupResource {
	if counted, ok := strings.CutPrefix(limit, "count/"); ok {
		return schema.ParseGroupResource(counted)
	}
	class, storage := strings.CutSuffix(limit, ".storageclass.storage.k8s.io/requests.storage")
	switch {
	case storage && class != "", strings.HasSuffix(limit, ".storageclass.storage.k8s.io/persistentvolumeclaims"),
		limit == "requests.storage":
		return schema.GroupResource{Resource: "persistentvolumeclaims"}
	case strings.HasPrefix(limit, "services."):
		return schema.GroupResource{Resource: "services"}
	case strings.HasSuffix(limit, ".deviceclass.resource.k8s.io/devices"):
		return schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	}
	switch limit {
	case "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services":
		return schema.GroupResource{Resource: limit}
	}
	return schema.GroupResource{Resource: "pods"} // their number, or what they request
}

// errAbsentOwner is why dependents are kept of owners that are not among the objects of files.
var errAbsentOwner = errors.New("not all owners are among the objects")

// unread returns the kinds of which the session may lack objects that the cluster has.
func (s *Session) unread(c *seed.Copy) []controllers.UnlistedKind {
	if c == nil {
		return nil
	}
	var out []controllers.UnlistedKind
	for _, i := range c.Incomplete {
		resource := schema.GroupResource{Group: i.Group, Resource: i.Resource}
		if i.Resource == "" {
			resource.Resource = "*"
		}
		out = append(out, controllers.UnlistedKind{Resource: resource, Err: errors.New(i.Message)})
	}
	for _, owner := range c.AbsentOwners {
		out = append(out, controllers.UnlistedKind{Resource: owner.Kind.GroupResource(), Err: errAbsentOwner})
	}
	for _, u := range s.copyReport.Unloaded {
		resource := schema.GroupResource{Group: u.Kind.Group, Resource: u.Resource}
		out = append(out, controllers.UnlistedKind{Resource: resource, Err: u.Err})
	}
	return out
}

// finishCopy makes what a copy lacks and the session needs: namespaces that could not be read. It returns when
// discovery has the custom resources of the copy, or after establishTimeout.
func (s *Session) finishCopy(ctx context.Context, c *seed.Copy) error {
	s.copyReport.Unloaded = s.server.Unloaded()
	for _, name := range c.Namespaces {
		if _, ok := c.Find(schema.GroupResource{Resource: "namespaces"}, "", name); ok {
			continue
		}
		if err := s.EnsureNamespace(ctx, name); err != nil {
			return err
		}
	}
	defined := definedKinds(c)
	if len(defined) == 0 {
		return nil
	}
	// What is not served by then is not served at all, such as a kind whose name another one has.
	served := func(ctx context.Context) (bool, error) { return s.servesAll(ctx, defined...), nil }
	_ = wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, served)
	return ctx.Err()
}

// definedKinds returns the kinds of the definitions that are in force.
func definedKinds(c *seed.Copy) []schema.GroupKind {
	var out []schema.GroupKind
	for i := range c.Objects {
		if c.Objects[i].Kind.GroupKind() != crdKind {
			continue
		}
		definition, err := c.Objects[i].Unstructured()
		if err != nil || !hasCondition(definition, "Established") {
			continue
		}
		// What is not there is a kind that is not served, which is waited for in vain.
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		out = append(out, schema.GroupKind{Group: group, Kind: kind})
	}
	return out
}

// copied returns the nodes and pods of the copy, as the API has them; nil if the session does not begin with one.
func copied(ctx context.Context, client kubernetes.Interface, c *seed.Copy) (*nodes.Copied, error) {
	if c == nil {
		return nil, nil
	}
	allNodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of the copy: %w", err)
	}
	allPods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of the copy: %w", err)
	}
	return nodes.NewCopied(pointers(allNodes.Items), pointers(allPods.Items)), nil
}

// neighbours returns the pods beside those of the copy that take room on its nodes.
func neighbours(c *seed.Copy) []*corev1.Pod {
	if c == nil {
		return nil
	}
	return c.Neighbours
}

func pointers[T corev1.Node | corev1.Pod](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
