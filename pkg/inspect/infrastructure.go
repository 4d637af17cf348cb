package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// namespace is Terminating also by its phase; a namespace's finalizers are in its spec.
func (o subject) namespace() Status {
	if o.Text("status", "phase") == "Terminating" {
		return o.status(Terminating, o.namespaceWaitReason())
	}
	return o.degradedIfBad(o.base)
}

// namespaceWaitReason returns why a namespace still exists, by its conditions; those that report errors come first.
func (o subject) namespaceWaitReason() string {
	for _, name := range []string{
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
		"NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
	} {
		if c := o.condition(name); c.Status == "True" {
			return cmp.Or(shortDiscoveryFailure(firstLine(c.Message)), reasonOf(c))
		}
	}
	if finalizers := o.Strings("spec", "finalizers"); len(finalizers) > 0 {
		return "waiting for finalizer " + strings.Join(finalizers, ", ")
	}
	return "being deleted"
}

// shortDiscoveryFailure shortens the message of the namespace controller about groups whose discovery failed
// (status_condition_utils.go of k8s.io/kubernetes/pkg/controller/namespace/deletion, ErrGroupDiscoveryFailed and
// StaleGroupVersionError of client-go's discovery), so that it begins with the names of the groups, each once. Other
// messages are returned unchanged.
func shortDiscoveryFailure(message string) string {
	_, groups, ok := strings.Cut(message, "unable to retrieve the complete list of server APIs: ")
	if !ok {
		return message
	}
	var out []string
	for part := range strings.SplitSeq(groups, ", ") {
		name, why, _ := strings.Cut(part, ": ")
		out = append(out, name+withSeparator(": ", strings.TrimSuffix(why, ": "+name)))
	}
	return "discovery failed: " + strings.Join(out, ", ")
}

// node corrects kstatus, for which an unreachable node is InProgress, and which ignores pressure and cordons.
func (o subject) node() Status {
	ready := o.condition("Ready")
	switch {
	case ready.Status == "":
		return o.status(Unknown, "its kubelet has not reported")
	case o.neverReady(ready):
		s := o.status(InProgress,
			"not ready since it joined"+withSeparator(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = cmp.Or(ready.Message, s.Message)
		return s
	case ready.Status != "True":
		s := o.status(Failed, "NotReady"+withSeparator(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = ready.Message
		return s
	}
	s := o.degradedIfBad(o.base)
	switch {
	case s.Status == Current && o.uninitialized():
		return o.status(InProgress, notInitialized)
	case s.Status == Current && o.Flag("spec", "unschedulable"):
		return o.status(Suspended, "cordoned")
	}
	return s
}

// notInitialized is why nothing is scheduled to a node that has joined with an external cloud provider.
const notInitialized = "no cloud controller manager has initialized it: taint " + uninitializedTaint

// uninitializedTaint is TaintExternalCloudProvider of k8s.io/cloud-provider/api.
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// uninitialized reports whether a node waits for the cloud controller manager, which removes the taint.
func (o subject) uninitialized() bool {
	return slices.ContainsFunc(o.Maps("spec", "taints"), func(taint untyped.Map) bool {
		return taint.Text("key") == uninitializedTaint
	})
}

// neverReady reports whether the kubelet has reported since the node was created that it is not ready, for example
// because its network plugin does not run yet. The kubelet sets the time of the condition when it registers the node,
// or soon after.
func (o subject) neverReady(ready Condition) bool {
	const atRegistration = time.Minute
	created, _ := o.Time("metadata", "creationTimestamp")
	return ready.Status == "False" && ready.Since != nil && created != nil &&
		ready.Since.Sub(created.Time) < atRegistration
}

// customResourceDefinition corrects kstatus, for which an established definition is Current whatever its other
// conditions.
func (o subject) customResourceDefinition() Status {
	switch names, established := o.condition("NamesAccepted"), o.condition("Established"); {
	case names.Status == "False":
		return o.status(Failed, reasonOf(names))
	case established.Status == "True":
		return o.degradedIfBad(o.base)
	case established.Status == "False" && established.Reason != "Installing":
		return o.status(o.base.Status, reasonOf(established))
	}
	return o.status(InProgress, "not established yet")
}

// apiService corrects kstatus, which does not know the kind. An unavailable one breaks discovery for all clients.
func (o subject) apiService() Status {
	available := o.condition("Available")
	switch available.Status {
	case "True":
		return o.base
	case "":
		return o.status(InProgress, "not checked yet")
	}
	s := o.status(Failed, reasonOf(available))
	s.Message = cmp.Or(available.Message, s.Message)
	return s
}

// service corrects kstatus, for which a load balancer without an address is Current.
func (o subject) service() Status {
	if o.Text("spec", "type") == "LoadBalancer" && len(o.Maps("status", "loadBalancer", "ingress")) == 0 {
		return o.status(InProgress, "waiting for a load balancer address")
	}
	if o.base.Status != Current {
		return o.baseStatus(o.base.Message)
	}
	return o.degradedIfBad(o.base)
}

// ingress waits for an address if it has a class, whose controller sets the address; kstatus does not know the kind.
func (o subject) ingress() Status {
	class, _ := o.Sub("metadata", "annotations")["kubernetes.io/ingress.class"].(string)
	class = cmp.Or(o.Text("spec", "ingressClassName"), class)
	if class != "" && len(o.Maps("status", "loadBalancer", "ingress")) == 0 {
		return o.status(InProgress, "waiting for an address")
	}
	return o.base
}

// certificateSigningRequest waits for approval, and then for its certificate.
func (o subject) certificateSigningRequest() Status {
	for _, name := range []string{"Denied", "Failed"} {
		if c := o.condition(name); c.Status == "True" {
			return o.status(Failed, name+withSeparator(": ", firstLine(cmp.Or(c.Message, c.Reason))))
		}
	}
	switch {
	case o.Text("status", "certificate") != "":
		return o.status(Current, "issued")
	case o.condition("Approved").Status == "True":
		return o.status(InProgress, "approved, waiting for "+o.Text("spec", "signerName"))
	}
	return o.status(InProgress, "waiting for approval")
}

// persistentVolumeClaim corrects kstatus, for which a claim that lost its volume is InProgress like one that waits
// for it.
func (o subject) persistentVolumeClaim() Status {
	switch phase := o.Text("status", "phase"); phase {
	case "Bound":
		return o.boundClaim()
	case "Lost":
		return o.status(Failed, "its volume "+o.Text("spec", "volumeName")+" is gone")
	case "Pending", "":
		class := o.Text("spec", "storageClassName")
		return o.status(InProgress, "waiting for a volume"+withSeparator(" of class ", class))
	default:
		return o.baseStatus(phase)
	}
}

// boundClaim returns the status of a bound claim, whose volume may be being resized or changing its attributes.
func (o subject) boundClaim() Status {
	for _, name := range []string{"ControllerResizeError", "NodeResizeError", "ModifyVolumeError"} {
		if c := o.condition(name); c.Status == "True" {
			return o.status(Degraded, reasonOf(c))
		}
	}
	for _, name := range []string{"Resizing", "FileSystemResizePending", "ModifyingVolume"} {
		if c := o.condition(name); c.Status == "True" {
			return o.status(InProgress, name+withSeparator(": ", firstLine(c.Message)))
		}
	}
	return o.base
}

// persistentVolume goes by the phase; kstatus does not know the kind.
func (o subject) persistentVolume() Status {
	claim := o.Text("spec", "claimRef", "namespace") + "/" + o.Text("spec", "claimRef", "name")
	switch phase := o.Text("status", "phase"); phase {
	case "Bound":
		return o.base
	case "Available":
		return o.baseStatus("no claim yet")
	case "Released":
		if o.Text("spec", "persistentVolumeReclaimPolicy") == "Retain" {
			return o.status(Suspended, "released by claim "+claim+", kept by its policy")
		}
		return o.status(InProgress, "released by claim "+claim)
	case "Failed":
		return o.status(Failed, cmp.Or(o.Text("status", "message"), o.Text("status", "reason"), "reclaiming it failed"))
	case "", "Pending":
		return o.status(InProgress, "not available yet")
	default:
		return o.baseStatus(phase)
	}
}

// volumeAttachment is Current when the volume is attached; kstatus does not know the kind.
func (o subject) volumeAttachment() Status {
	switch problem := firstLine(o.Text("status", "attachError", "message")); {
	case o.Flag("status", "attached"):
		return o.base
	case problem != "":
		return o.status(Failed, "attaching: "+problem)
	}
	return o.status(InProgress, "not attached yet")
}

// volumeSnapshot is the rule of VolumeSnapshots and VolumeSnapshotContents, by the status that
// kubernetes-csi/external-snapshotter writes; kstatus does not know them. An error stays in the status until the next
// attempt succeeds.
func (o subject) volumeSnapshot() Status {
	switch problem := firstLine(o.Text("status", "error", "message")); {
	case o.Flag("status", "readyToUse"):
		return o.base
	case problem != "":
		return o.status(Failed, "taking the snapshot: "+problem)
	}
	return o.status(InProgress, "not ready to use yet")
}
