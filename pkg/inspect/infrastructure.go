package inspect

import (
	"cmp"
	"strings"
	"time"
)

// namespace is Terminating by its phase too; a namespace's finalizers are in its spec.
func (o subject) namespace() Status {
	if o.text("status", "phase") == "Terminating" {
		return o.status(Terminating, o.namespaceWaitReason())
	}
	return o.degradedIfBad(o.base)
}

// namespaceWaitReason tells why a namespace is not gone yet: its conditions, the ones that are errors first.
func (o subject) namespaceWaitReason() string {
	for _, name := range []string{
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
		"NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
	} {
		if c := o.condition(name); c.Status == "True" {
			return cmp.Or(shortDiscoveryFailure(firstLine(c.Message)), reasonOf(c))
		}
	}
	if finalizers := o.strings("spec", "finalizers"); len(finalizers) > 0 {
		return "waiting for finalizer " + strings.Join(finalizers, ", ")
	}
	return "being deleted"
}

// shortDiscoveryFailure shortens what the namespace controller says of groups whose discovery failed (status_condition_utils.go of
// k8s.io/kubernetes/pkg/controller/namespace/deletion, ErrGroupDiscoveryFailed and StaleGroupVersionError of client-go's
// discovery), so that the first words name the groups, each once. Other messages stay as they are.
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

// node corrects kstatus, which takes one that is lost for one on its way, and overlooks pressure and cordons.
func (o subject) node() Status {
	ready := o.condition("Ready")
	switch {
	case ready.Status == "":
		return o.status(Unknown, "its kubelet has not reported")
	case o.neverReady(ready):
		s := o.status(InProgress, "not ready since it joined"+withSeparator(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = cmp.Or(ready.Message, s.Message)
		return s
	case ready.Status != "True":
		s := o.status(Failed, "NotReady"+withSeparator(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = ready.Message
		return s
	}
	s := o.degradedIfBad(o.base)
	if s.Status == Current && o.flag("spec", "unschedulable") {
		return o.status(Suspended, "cordoned")
	}
	return s
}

// neverReady reports whether the kubelet reports, and has reported since the node was made, that the node is not ready: its
// network comes later, for one. The kubelet sets the time of the condition when it registers the node, or soon after.
func (o subject) neverReady(ready Condition) bool {
	const soon = time.Minute
	made, _ := o.time("metadata", "creationTimestamp")
	return ready.Status == "False" && ready.Since != nil && made != nil && ready.Since.Sub(made.Time) < soon
}

// customResourceDefinition tells what of a definition does not work though it is established.
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

// apiService corrects kstatus, which does not know the kind: discovery of a group that does not answer breaks clients.
func (o subject) apiService() Status {
	available := o.condition("Available")
	switch available.Status {
	case "True":
		return o.base
	case "":
		return o.status(InProgress, "not judged yet")
	}
	s := o.status(Failed, reasonOf(available))
	s.Message = cmp.Or(available.Message, s.Message)
	return s
}

// service corrects kstatus, which does not wait for the address of a load balancer.
func (o subject) service() Status {
	if o.text("spec", "type") == "LoadBalancer" && len(o.maps("status", "loadBalancer", "ingress")) == 0 {
		return o.status(InProgress, "waiting for a load balancer address")
	}
	if o.base.Status != Current {
		return o.baseStatus(o.base.Message)
	}
	return o.degradedIfBad(o.base)
}

// ingress is as a Service of a load balancer if it has a class, whose controller gives it an address; kstatus does not
// know the kind.
func (o subject) ingress() Status {
	class, _ := o.sub("metadata", "annotations")["kubernetes.io/ingress.class"].(string)
	class = cmp.Or(o.text("spec", "ingressClassName"), class)
	if class != "" && len(o.maps("status", "loadBalancer", "ingress")) == 0 {
		return o.status(InProgress, "waiting for an address")
	}
	return o.base
}

// certificateSigningRequest waits for somebody to approve it, and then for its certificate.
func (o subject) certificateSigningRequest() Status {
	for _, name := range []string{"Denied", "Failed"} {
		if c := o.condition(name); c.Status == "True" {
			return o.status(Failed, name+withSeparator(": ", firstLine(cmp.Or(c.Message, c.Reason))))
		}
	}
	switch {
	case o.text("status", "certificate") != "":
		return o.status(Current, "issued")
	case o.condition("Approved").Status == "True":
		return o.status(InProgress, "approved, waiting for "+o.text("spec", "signerName"))
	}
	return o.status(InProgress, "waiting for approval")
}

// persistentVolumeClaim tells a claim that lost its volume from one that waits for it.
func (o subject) persistentVolumeClaim() Status {
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return o.boundClaim()
	case "Lost":
		return o.status(Failed, "its volume "+o.text("spec", "volumeName")+" is gone")
	case "Pending", "":
		return o.status(InProgress, "waiting for a volume"+withSeparator(" of class ", o.text("spec", "storageClassName")))
	default:
		return o.baseStatus(phase)
	}
}

// boundClaim looks at what is done to the volume of a claim: resizing it, changing its attributes.
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

// persistentVolume judges by the phase; kstatus does not know the kind.
func (o subject) persistentVolume() Status {
	claim := o.text("spec", "claimRef", "namespace") + "/" + o.text("spec", "claimRef", "name")
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return o.base
	case "Available":
		return o.baseStatus("no claim yet")
	case "Released":
		if o.text("spec", "persistentVolumeReclaimPolicy") == "Retain" {
			return o.status(Suspended, "released by claim "+claim+", kept by its policy")
		}
		return o.status(InProgress, "released by claim "+claim)
	case "Failed":
		return o.status(Failed, cmp.Or(o.text("status", "message"), o.text("status", "reason"), "reclaiming it failed"))
	case "", "Pending":
		return o.status(InProgress, "not available yet")
	default:
		return o.baseStatus(phase)
	}
}

// volumeAttachment is done when the volume is attached; kstatus does not know the kind.
func (o subject) volumeAttachment() Status {
	switch problem := firstLine(o.text("status", "attachError", "message")); {
	case o.flag("status", "attached"):
		return o.base
	case problem != "":
		return o.status(Failed, "attaching: "+problem)
	}
	return o.status(InProgress, "not attached yet")
}

// volumeSnapshot is of VolumeSnapshots and their contents, as kubernetes-csi/external-snapshotter writes their status;
// kstatus does not know them. An error is told until the next try succeeds.
func (o subject) volumeSnapshot() Status {
	switch problem := firstLine(o.text("status", "error", "message")); {
	case o.flag("status", "readyToUse"):
		return o.base
	case problem != "":
		return o.status(Failed, "taking the snapshot: "+problem)
	}
	return o.status(InProgress, "not ready to use yet")
}
