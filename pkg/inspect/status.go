package inspect

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status says how far an object has come towards what its spec asks for.
type Status struct {
	// Status is one of the words of kstatus: Current, InProgress, Failed, Terminating, Unknown.
	Status string `json:"status"`
	// Message says why, for people; it may be empty.
	Message string `json:"message,omitempty"`
	// Ready is "ready/wanted" for objects that count replicas or containers, empty for others.
	Ready string `json:"ready,omitempty"`
}

// Current says whether the object is as its spec asks for.
func (s Status) Current() bool { return s.Status == string(status.CurrentStatus) }

// StatusOf judges an object by its own fields, by the rules of kstatus, but that a pod that failed is Failed. An object whose status is not of the shape that
// its kind promises is Unknown, with the reason in Message. The object is only read.
func StatusOf(obj *unstructured.Unstructured) Status {
	out := Status{Ready: ready(obj)}
	result, err := status.Compute(obj)
	if err != nil {
		out.Status, out.Message = string(status.UnknownStatus), err.Error()
		return out
	}
	out.Status, out.Message = string(result.Status), result.Message
	if obj.GetKind() == "Pod" {
		out = out.ofPod(obj)
	}
	return out
}

// ofPod is the status of a pod, where the pod itself says more than kstatus.
func (s Status) ofPod(pod *unstructured.Unstructured) Status {
	phase, _, err := unstructured.NestedString(pod.Object, "status", "phase")
	switch {
	case err != nil:
	case phase == "Failed":
		s.Status, s.Message = string(status.FailedStatus), "Pod has failed" // kstatus takes it for done, and so for Current
	case !s.Current():
		if why := waitingFor(pod); why != "" {
			s.Message = why
		}
	}
	return s
}

// waitingFor tells why a pod does not get on: that it cannot be scheduled, or what a container waits for; empty if it is
// only on its way.
func waitingFor(pod *unstructured.Unstructured) string {
	for _, c := range list(pod, "status", "conditions") {
		if c, ok := c.(map[string]any); ok && c["type"] == "PodScheduled" && c["status"] == "False" {
			return text(c["message"])
		}
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range list(pod, "status", field) {
			c, ok := c.(map[string]any)
			if !ok {
				continue
			}
			reason, _, err := unstructured.NestedString(c, "state", "waiting", "reason")
			if err == nil && reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" {
				return fmt.Sprintf("container %s: %s", text(c["name"]), reason)
			}
		}
	}
	return ""
}

// text is v if it is one, else empty.
func text(v any) string {
	s, _ := v.(string)
	return s
}

func ready(obj *unstructured.Unstructured) string {
	if obj.GetKind() == "Pod" {
		return readyContainers(obj)
	}
	wanted, ok := integer(obj, "spec", "replicas")
	if !ok {
		return ""
	}
	have, _ := integer(obj, "status", "readyReplicas")
	return fmt.Sprintf("%d/%d", have, wanted)
}

func readyContainers(pod *unstructured.Unstructured) string {
	n := 0
	for _, s := range list(pod, "status", "containerStatuses") {
		if m, ok := s.(map[string]any); ok && m["ready"] == true {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(list(pod, "spec", "containers")))
}

// list returns the list at path, nil if there is none or something else.
func list(obj *unstructured.Unstructured, path ...string) []any {
	v, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		return nil
	}
	entries, _ := v.([]any)
	return entries
}

func integer(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	v, found, err := unstructured.NestedInt64(obj.Object, path...)
	return v, found && err == nil
}
