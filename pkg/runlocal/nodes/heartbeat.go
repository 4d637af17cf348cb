package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Heartbeats of the kubelet: its default of NodeLeaseDurationSeconds, and a quarter of that between two renewals. They
// mirror SetDefaults_KubeletConfiguration of k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1/defaults.go and
// nodeLeaseRenewIntervalFraction of k8s.io/kubernetes/pkg/kubelet/kubelet.go.
const (
	leaseSeconds  = 40
	leaseInterval = leaseSeconds * time.Second / 4
)

// leaseRenewer renews the leases of all nodes with an active kubelet, and reports the conditions of those that were not
// copied.
type leaseRenewer struct {
	copied    *Copied
	leases    coordinationclient.LeaseInterface
	status    corev1client.NodeInterface
	nodes     corelisters.NodeLister
	clock     clock.WithTicker
	reportNow <-chan struct{} // requests a heartbeat at once
}

// run sends heartbeats until stop is closed or ctx ends.
func (h *leaseRenewer) run(ctx context.Context, stop <-chan struct{}) {
	ticker := h.clock.NewTicker(leaseInterval)
	defer ticker.Stop()
	for {
		h.renewAll(ctx)
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-h.reportNow:
		}
	}
}

// renewAll sends the heartbeats of all nodes with an active kubelet. Errors are logged: the next heartbeat tries again.
func (h *leaseRenewer) renewAll(ctx context.Context) {
	logger := klog.FromContext(ctx)
	all, err := h.nodes.List(labels.Everything())
	if err != nil {
		logger.Error(err, "Listing nodes for their heartbeats")
		return
	}
	for _, node := range all {
		if !h.copied.hasActiveKubelet(node) || ctx.Err() != nil {
			continue
		}
		err := h.renew(ctx, node)
		if !h.copied.hasNode(node) {
			err = errors.Join(err, reportConditions(ctx, h.status, node, h.clock.Now()))
		}
		if err != nil && ctx.Err() == nil {
			logger.Error(err, "Heartbeat left out", "node", node.Name)
		}
	}
}

// renew renews the lease of a node, or creates it.
func (h *leaseRenewer) renew(ctx context.Context, node *corev1.Node) error {
	lease, err := h.leases.Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if _, err = h.leases.Create(ctx, newLease(node, h.clock.Now()), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the lease of node %q: %w", node.Name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the lease of node %q: %w", node.Name, err)
	}
	lease.Spec = newLease(node, h.clock.Now()).Spec
	if _, err := h.leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("renewing the lease of node %q: %w", node.Name, err)
	}
	return nil
}

// newLease returns the lease of a node, renewed at that time. The node owns it, so that it is deleted with the node.
func newLease(node *corev1.Node, now time.Time) *coordinationv1.Lease {
	holder, duration, renewed := node.Name, int32(leaseSeconds), metav1.NewMicroTime(now)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &duration, RenewTime: &renewed},
	}
}

// NodeFailure is a value of SimulateAnnotation on a Node. It may be set and removed at any time. Other values are
// ignored.
type NodeFailure string

// The failures of nodes.
const (
	// Silent makes the node's kubelet do nothing: it renews no lease and leaves pods as they are.
	Silent NodeFailure = "silent"
	// NotReady makes the kubelet report that the node is not ready. Its pods keep running.
	NotReady NodeFailure = "not-ready"
)

// nodeFailure returns the failure that the node simulates; "" for a healthy node.
func nodeFailure(node *corev1.Node) NodeFailure {
	return NodeFailure(node.Annotations[SimulateAnnotation])
}

// hasActiveKubelet reports whether the node is simulated and its kubelet is not silent.
func hasActiveKubelet(node *corev1.Node) bool { return simulated(node) && nodeFailure(node) != Silent }

// reportedConditions returns the conditions that the node's kubelet would report.
func reportedConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	conditions := nodeConditions(now)
	if nodeFailure(node) == NotReady {
		i := slices.IndexFunc(conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		conditions[i].Status = corev1.ConditionFalse
		conditions[i].Reason, conditions[i].Message = "KubeletNotReady", "not ready, as the node's annotation asks for"
	}
	return conditions
}

// missingConditions returns those of reportedConditions that the node does not have, with now as their transition time.
func missingConditions(node *corev1.Node, now time.Time) []corev1.NodeCondition {
	return slices.DeleteFunc(reportedConditions(node, now), func(c corev1.NodeCondition) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(has corev1.NodeCondition) bool {
			return has.Type == c.Type && has.Status == c.Status && has.Reason == c.Reason
		})
	})
}

// reportConditions writes the missing conditions into the node's status, as a kubelet does when something has changed.
func reportConditions(ctx context.Context, client corev1client.NodeInterface, node *corev1.Node, now time.Time) error {
	conditions := missingConditions(node, now)
	if len(conditions) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		return fmt.Errorf("encoding the conditions of node %q: %w", node.Name, err)
	}
	if _, err := client.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status"); err != nil {
		return fmt.Errorf("reporting the conditions of node %q: %w", node.Name, err)
	}
	return nil
}
