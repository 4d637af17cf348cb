package inspect

import (
	"cmp"
	"strings"
	"time"
)

// namespace is Terminating by its phase too; a namespace's finalizers are in its spec.
func (o subject) namespace() Status {
	if o.text("status", "phase") == "Terminating" {
		return o.is(Terminating, o.namespaceWaits())
	}
	return o.unlessBad(o.base)
}

// namespaceWaits tells why a namespace is not gone yet: its conditions, the ones that are errors first.
func (o subject) namespaceWaits() string {
	for _, name := range []string{
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
		"NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
	} {
		if c := o.condition(name); c.Status == "True" {
			return cmp.Or(undiscovered(firstLine(c.Message)), reasonOf(c))
		}
	}
	if finalizers := o.strings("spec", "finalizers"); len(finalizers) > 0 {
		return "waiting for finalizer " + strings.Join(finalizers, ", ")
	}
	return "being deleted"
}

// undiscovered shortens what the namespace controller says of groups whose discovery failed (status_condition_utils.go of
// k8s.io/kubernetes/pkg/controller/namespace/deletion, ErrGroupDiscoveryFailed and StaleGroupVersionError of client-go's
// discovery), so that the first words name the groups, each once. Other messages stay as they are.
func undiscovered(message string) string {
	_, groups, ok := strings.Cut(message, "unable to retrieve the complete list of server APIs: ")
	if !ok {
		return message
	}
	var out []string
	for part := range strings.SplitSeq(groups, ", ") {
		name, why, _ := strings.Cut(part, ": ")
		out = append(out, name+after(": ", strings.TrimSuffix(why, ": "+name)))
	}
	return "discovery failed: " + strings.Join(out, ", ")
}

// node corrects kstatus, which takes one that is lost for one on its way, and overlooks pressure and cordons.
func (o subject) node() Status {
	ready := o.condition("Ready")
	switch {
	case ready.Status == "":
		return o.is(Unknown, "its kubelet has not reported")
	case o.neverReady(ready):
		s := o.is(InProgress, "not ready since it joined"+after(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = cmp.Or(ready.Message, s.Message)
		return s
	case ready.Status != "True":
		s := o.is(Failed, "NotReady"+after(": ", cmp.Or(firstLine(ready.Message), ready.Reason)))
		s.Message = ready.Message
		return s
	}
	s := o.unlessBad(o.base)
	if s.Status == Current && o.flag("spec", "unschedulable") {
		return o.is(Suspended, "cordoned")
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
		return o.is(Failed, reasonOf(names))
	case established.Status == "True":
		return o.unlessBad(o.base)
	case established.Status == "False" && established.Reason != "Installing":
		return o.is(o.base.Status, reasonOf(established))
	}
	return o.is(InProgress, "not established yet")
}

// apiService corrects kstatus, which does not know the kind: discovery of a group that does not answer breaks clients.
func (o subject) apiService() Status {
	available := o.condition("Available")
	switch available.Status {
	case "True":
		return o.base
	case "":
		return o.is(InProgress, "not judged yet")
	}
	s := o.is(Failed, reasonOf(available))
	s.Message = cmp.Or(available.Message, s.Message)
	return s
}

// service corrects kstatus, which does not wait for the address of a load balancer.
func (o subject) service() Status {
	if o.text("spec", "type") == "LoadBalancer" && len(o.maps("status", "loadBalancer", "ingress")) == 0 {
		return o.is(InProgress, "waiting for a load balancer address")
	}
	if o.base.Status != Current {
		return o.because(o.base.Message)
	}
	return o.unlessBad(o.base)
}

// ingress is as a Service of a load balancer if it has a class, whose controller gives it an address; kstatus does not
// know the kind.
func (o subject) ingress() Status {
	class, _ := o.sub("metadata", "annotations")["kubernetes.io/ingress.class"].(string)
	class = cmp.Or(o.text("spec", "ingressClassName"), class)
	if class != "" && len(o.maps("status", "loadBalancer", "ingress")) == 0 {
		return o.is(InProgress, "waiting for an address")
	}
	return o.base
}

// certificateSigningRequest waits for somebody to approve it, and then for its certificate.
func (o subject) certificateSigningRequest() Status {
	for _, name := range []string{"Denied", "Failed"} {
		if c := o.condition(name); c.Status == "True" {
			return o.is(Failed, name+after(": ", firstLine(cmp.Or(c.Message, c.Reason))))
		}
	}
	switch {
	case o.text("status", "certificate") != "":
		return o.is(Current, "issued")
	case o.condition("Approved").Status == "True":
		return o.is(InProgress, "approved, waiting for "+o.text("spec", "signerName"))
	}
	return o.is(InProgress, "waiting for approval")
}
