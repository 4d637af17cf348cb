package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// podPorts are the ports that the containers of a pod declare.
type podPorts struct {
	pod     *ownertree.Node
	names   []string
	numbers []string
}

func portsOf(n *ownertree.Node, pod *corev1.Pod) podPorts {
	out := podPorts{pod: n}
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				out.numbers = append(out.numbers, fmt.Sprint(port.ContainerPort))
				if port.Name != "" {
					out.names = append(out.names, port.Name)
				}
			}
		}
	}
	return out
}

// missingPorts are the target ports of a Service that no container of its ready pods has: by their name, which is
// certain if a pod of each of their revisions was read, or by their number, which need not be declared.
func (d *diagnoser) missingPorts(s *corev1.Service, ready []*ownertree.Node) []inspect.Cause {
	var all []podPorts
	known := map[revision]bool{}
	for _, n := range ready {
		var pod corev1.Pod
		if d.typed(n, &pod) {
			known[revisionOf(n)] = true
			all = append(all, portsOf(n, &pod))
		}
	}
	if len(all) == 0 {
		return nil
	}
	certainty := inspect.Certain
	if slices.ContainsFunc(ready, func(n *ownertree.Node) bool { return !known[revisionOf(n)] }) {
		certainty = inspect.Likely
	}
	var out []inspect.Cause
	for _, port := range s.Spec.Ports {
		field := fmt.Sprintf("spec.ports[port=%d].targetPort", port.Port)
		c := inspect.Cause{
			Type: PortMissing, Certainty: certainty, Weight: inspect.Specific,
			Part: "port " + cmp.Or(port.Name, fmt.Sprint(port.Port)), Detail: port.TargetPort.StrVal,
			Evidence: []inspect.Evidence{{Source: inspect.FromField, Name: field, Text: port.TargetPort.StrVal}},
		}
		if port.TargetPort.Type == intstr.Int {
			number := fmt.Sprint(cmp.Or(port.TargetPort.IntVal, port.Port))
			at := d.undeclared(number, all)
			if at < 0 || s.Spec.ClusterIP == corev1.ClusterIPNone { // its clients choose the port
				continue
			}
			c.Certainty, c.Weight = inspect.Possible, inspect.General
			c.Detail = number + " is declared by no container of " + d.workloadText(all[at].pod)
			c.Evidence[0].Text = number
			c.Evidence = append(c.Evidence, portEvidence(all[at].pod, all[at].numbers))
		} else {
			hasName := func(p podPorts) bool { return slices.Contains(p.names, port.TargetPort.StrVal) }
			if slices.ContainsFunc(all, hasName) {
				continue
			}
			c.Evidence = append(c.Evidence, portEvidence(all[0].pod, all[0].names))
		}
		out = append(out, c)
	}
	return out
}

func portEvidence(pod *ownertree.Node, ports []string) inspect.Evidence {
	text := "has no named port"
	if len(ports) > 0 {
		text = "has the ports " + strings.Join(ports, ", ")
	}
	return inspect.Evidence{Source: inspect.FromObject, Name: "Pod/" + pod.Name, Text: text}
}

// undeclared returns the first of the pods that declares ports, but not the one of a number; -1 if there is none. What
// a later revision of a workload declares no more, another pod of it may still have.
func (d *diagnoser) undeclared(number string, all []podPorts) int {
	declared := map[*ownertree.Node]bool{}
	for _, p := range all {
		if len(p.numbers) == 0 || slices.Contains(p.numbers, number) {
			workload, _ := workloadOf(p.pod)
			declared[workload] = true
		}
	}
	return slices.IndexFunc(all, func(p podPorts) bool {
		workload, _ := workloadOf(p.pod)
		return len(p.numbers) > 0 && !slices.Contains(p.numbers, number) && !declared[workload]
	})
}

// workloadText names the workload of a pod, or the pod if it has none.
func (d *diagnoser) workloadText(pod *ownertree.Node) string {
	if workload, _ := workloadOf(pod); workload != nil {
		return workload.Kind.Kind + "/" + workload.Name
	}
	return "Pod/" + pod.Name
}

// mostSlices bounds how many slices of a Service are read.
const mostSlices = 8

// slicesByHand reads the slices of Services without a selector, which no controller keeps.
func (r *situationReader) slicesByHand(ctx context.Context) error {
	var wanted []*ownertree.Node
	for _, n := range r.explained {
		var s corev1.Service
		if n.Kind.GroupKind().String() == "Service" && r.typed(n, &s) && len(s.Spec.Selector) == 0 {
			of := r.endpointSlices(n)
			wanted = append(wanted, of[:min(len(of), mostSlices)]...)
		}
	}
	r.read(ctx, wanted)
	return nil
}

// podsGone are the pods that slices name as endpoints, and that do not exist.
func (d *diagnoser) podsGone(endpoints []*ownertree.Node) []inspect.Cause {
	var out []inspect.Cause
	for _, n := range endpoints {
		var slice discoveryv1.EndpointSlice
		if !d.typed(n, &slice) {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.TargetRef == nil || e.TargetRef.Kind != "Pod" {
				continue
			}
			to := &inspect.Reference{Kind: "Pod", Namespace: n.Namespace, Name: e.TargetRef.Name}
			exists, known := d.graph.Exists(schema.GroupKind{Kind: "Pod"})(n.Namespace, to.Name)
			if cmp.Or(e.TargetRef.Namespace, n.Namespace) != n.Namespace || exists || !known {
				continue
			}
			out = append(out, inspect.Cause{
				Type: inspect.MissingObject, Certainty: inspect.Likely, Weight: inspect.Specific, Refers: to,
				Detail: "names as an endpoint",
				Evidence: []inspect.Evidence{{
					Source: inspect.FromObject, Name: "EndpointSlice/" + n.Name,
					Text: "has the endpoint " + strings.Join(e.Addresses, ", ") + " of it",
				}},
			})
		}
	}
	return out
}
