package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// DesiredReplicas is the annotation in which the Deployment controller keeps, at each ReplicaSet, how many replicas the
// Deployment wants. It mirrors DesiredReplicasAnnotation of
// k8s.io/kubernetes/pkg/controller/deployment/util/deployment_util.go.
const DesiredReplicas = "deployment.kubernetes.io/desired-replicas"

// stuck changes the cause that an object waits for its controller if that was tried and writes nothing: so it is stuck.
// While a pod of it is being deleted, or has to be ready for longer, the controller waits for that.
func (d *diagnoser) stuck(n *ownertree.Node, status *treestatus.StatusNode, own []inspect.Cause) {
	idle, obj := d.Trials[n.UID].Idle, d.objects[n.UID]
	isDeleting := func(c *treestatus.StatusNode) bool { return c.Branch.Node.Deleting != nil }
	if idle == nil || obj == nil || slices.ContainsFunc(status.Children, isDeleting) ||
		n.Kind.Kind != "Deployment" && untyped.Map(obj.Object).Count(0, "spec", "minReadySeconds") > 0 {
		return
	}
	for i := range own {
		c := &own[i]
		if c.Type != inspect.PodsNotMade {
			continue
		}
		c.Type, c.Weight = Stuck, inspect.General
		c.Evidence = append(c.Evidence, *idle)
		if of := d.misscaled; of != nil && of.deployment == n {
			c.Weight, c.Refers = inspect.Specific, &inspect.Reference{
				Group: n.Kind.Group, Kind: "ReplicaSet", Namespace: n.Namespace, Name: of.set,
			}
			c.Detail = fmt.Sprintf("an annotation of ReplicaSet/%s says that it wants %d replicas, not %d, "+
				"and so each change is taken for one of that number", of.set, of.says, of.wants)
			c.Evidence = append(c.Evidence, inspect.Evidence{
				Source: inspect.FromObject, Name: "ReplicaSet/" + of.set,
				Text: fmt.Sprintf("annotation %s: %d", DesiredReplicas, of.says),
			})
		}
	}
}

// misscaled is a ReplicaSet that says of its Deployment another number of replicas than that wants.
type misscaled struct {
	deployment  *ownertree.Node
	set         string
	says, wants int64
}

// misscaledOf finds a ReplicaSet of a Deployment that is stuck whose annotation says another number of replicas than
// the Deployment wants. Its controller takes a change for one of that number as long as there is one: see
// isScalingEvent of k8s.io/kubernetes/pkg/controller/deployment/sync.go.
func (r *situationReader) misscaledOf(ctx context.Context, c *Cause) {
	n := c.Node()
	if c.Type != Stuck || n.Kind.Kind != "Deployment" {
		return
	}
	isOther := func(d *ownertree.Node) bool { return d.Kind.Kind != "ReplicaSet" }
	sets := slices.DeleteFunc(slices.Clone(n.Dependents), isOther)
	objects, unread := treestatus.ReadEach(ctx, r.reader, sets[:min(len(sets), mostTemplateRevisions)])
	r.unread = append(r.unread, unread...)
	wanted := untyped.Map(r.objects[n.UID].Object).Count(1, "spec", "replicas")
	for _, set := range sets {
		obj := objects[set]
		if obj == nil || untyped.Map(obj.Object).Count(0, "spec", "replicas") == 0 {
			continue
		}
		says, err := strconv.ParseInt(obj.GetAnnotations()[DesiredReplicas], 10, 64)
		if err == nil && says != wanted {
			r.misscaled = &misscaled{n, set.Name, says, wanted}
			return
		}
	}
}
