package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// rules determine the status of built-in kinds and volume snapshots where kstatus does not know the kind, is
// misleading, or reports less than the object does. Kinds of groups that Kubernetes no longer serves are not in it.
var rules = map[string]func(subject) Status{
	"/Namespace":                             subject.namespace,
	"/Node":                                  subject.node,
	"/PersistentVolume":                      subject.persistentVolume,
	"/PersistentVolumeClaim":                 subject.persistentVolumeClaim,
	"/Pod":                                   subject.pod,
	"/ReplicationController":                 subject.replicaSet,
	"/Service":                               subject.service,
	"apps/DaemonSet":                         subject.daemonSet,
	"apps/Deployment":                        subject.deployment,
	"apps/ReplicaSet":                        subject.replicaSet,
	"apps/StatefulSet":                       subject.statefulSet,
	"autoscaling/HorizontalPodAutoscaler":    subject.horizontalPodAutoscaler,
	"batch/CronJob":                          subject.cronJob,
	"batch/Job":                              subject.job,
	"networking.k8s.io/Ingress":              subject.ingress,
	"policy/PodDisruptionBudget":             subject.podDisruptionBudget,
	"storage.k8s.io/VolumeAttachment":        subject.volumeAttachment,
	"snapshot.storage.k8s.io/VolumeSnapshot": subject.volumeSnapshot,
	"snapshot.storage.k8s.io/VolumeSnapshotContent": subject.volumeSnapshot,
	"apiextensions.k8s.io/CustomResourceDefinition": subject.customResourceDefinition,
	"apiregistration.k8s.io/APIService":             subject.apiService,
	"certificates.k8s.io/CertificateSigningRequest": subject.certificateSigningRequest,
}

// ruleOf returns the rule of a kind; nil if it has none.
func ruleOf(group, kind string) func(subject) Status { return rules[group+"/"+kind] }

// shortfall returns "2 of 3 things" if have is less than want, else "".
func shortfall(have, want int64, things string) string {
	if have >= want {
		return ""
	}
	return fmt.Sprintf("%d of %d %s", have, want, things)
}

// plural returns the count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// readyOf returns Status.Ready: the counts that the kind has.
func readyOf(o subject) string {
	switch o.group + "/" + o.kind {
	case "/Pod":
		return readyContainers(containersOf(o.Map))
	case "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "/ReplicationController":
		return ratio(o.Count(0, "status", "readyReplicas"), o.Count(1, "spec", "replicas"))
	case "apps/DaemonSet":
		return ratio(o.Count(0, "status", "numberReady"), o.Count(0, "status", "desiredNumberScheduled"))
	case "batch/Job":
		return ratio(o.Count(0, "status", "succeeded"), o.Count(1, "spec", "completions"))
	case "discovery.k8s.io/EndpointSlice":
		return o.readyEndpoints()
	}
	want, wanted := o.Number("spec", "replicas")
	have, counted := readyReplicas(o.Sub("status"))
	if !wanted || !counted {
		return ""
	}
	return ratio(have, want)
}

// readyReplicas returns how many replicas are ready by the counts of a status, and whether it counts them. Counts that
// are 0 are mostly left out, so one that is missing beside others is 0.
func readyReplicas(status untyped.Map) (ready int64, counted bool) {
	for _, name := range []string{"readyReplicas", "availableReplicas"} {
		if n, ok := status.Number(name); ok {
			return n, true
		}
	}
	all, counted := status.Number("replicas")
	if missing, ok := status.Number("unavailableReplicas"); ok {
		return max(all-missing, 0), true
	}
	for name := range status {
		if strings.HasSuffix(name, "Replicas") {
			return 0, true
		}
	}
	// With a selector it is what the subresource scale reports, and may be all that the kind counts.
	return 0, counted && status.At("selector") == nil && status.At("labelSelector") == nil
}

// replicasMissing returns how many replicas are ready if fewer than wanted, by the counts of the object or of the parts
// that its status lists; empty if enough are, or if it does not count them.
func (o subject) replicasMissing() string {
	if want, ok := o.Number("status", "desiredNumberScheduled"); ok {
		return shortfall(o.Count(0, "status", "numberReady"), want, "pods ready")
	}
	status := o.Sub("status")
	if want, ok := o.Number("spec", "replicas"); ok {
		if have, counted := readyReplicas(status); counted {
			return shortfall(have, want, "replicas ready")
		}
		return ""
	}
	for _, field := range slices.Sorted(maps.Keys(status)) {
		for _, part := range status.Maps(field) {
			want, ok := part.Number("replicas")
			if have, counted := readyReplicas(part); ok && counted && len(part) > 1 && have < want {
				return strings.TrimPrefix(part.Text("name")+": ", ": ") + shortfall(have, want, "replicas ready")
			}
		}
	}
	return ""
}

// updatesMissing returns how many replicas are updated if fewer than its update strategy wants; empty if it is to keep
// old ones.
func (o subject) updatesMissing() string {
	strategy := o.Sub("spec", "updateStrategy")
	updated, counted := o.Number("status", "updatedReplicas")
	want := o.Count(o.Count(0, "spec", "replicas"), "status", "expectedUpdatedReplicas")
	for _, v := range []untyped.Map{strategy, strategy.Sub("rollingUpdate")} {
		if partition := v.At("partition"); v.At("paused") == true || partition != nil && !isZero(partition) {
			return ""
		}
	}
	if strategy == nil || !counted || strategy.Text("type") == "OnDelete" {
		return ""
	}
	return shortfall(updated, want, "replicas updated")
}

// isZero reports whether a value is the number 0.
func isZero(value any) bool {
	n, ok := untyped.Whole(value)
	return ok && n == 0
}

func ratio(have, want int64) string { return fmt.Sprintf("%d/%d", have, want) }

// readyEndpoints counts the endpoints of a slice: by the API's definition one whose readiness is not set is ready.
func (o subject) readyEndpoints() string {
	endpoints := o.Maps("endpoints")
	ready := 0
	for _, e := range endpoints {
		if reported, ok := e.At("conditions", "ready").(bool); !ok || reported {
			ready++
		}
	}
	return ratio(int64(ready), int64(len(endpoints)))
}

// worstCondition returns the first bad condition, and whether there is one. Bad conditions are sorted first.
func (o subject) worstCondition() (Condition, bool) {
	if len(o.conditions) > 0 && o.conditions[0].Bad {
		return o.conditions[0], true
	}
	return Condition{}, false
}

// degradedIfBad returns s, or Degraded if s is Current and a condition is bad.
func (o subject) degradedIfBad(s Status) Status {
	if c, bad := o.worstCondition(); bad && s.Status == Current {
		s.Status, s.Reason, s.Message = Degraded, c.text(), c.Message
	}
	return s
}
