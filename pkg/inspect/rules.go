package inspect

import "fmt"

// rules judge the built-in kinds, and those of volume snapshots, that kstatus does not know, or misleads about; or that
// have more to tell than it does.
// Groups of old versions are not served any more.
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

// ruleOf is the rule of a kind, nil if it has none.
func ruleOf(group, kind string) func(subject) Status { return rules[group+"/"+kind] }

// shortfall says "2 of 3 things", if there are fewer than wanted; else it is empty.
func shortfall(have, want int64, things string) string {
	if have >= want {
		return ""
	}
	return fmt.Sprintf("%d of %d %s", have, want, things)
}

// plural is the count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// readyOf counts what the kind counts.
func readyOf(o subject) string {
	switch o.group + "/" + o.kind {
	case "/Pod":
		return readyContainers(containersOf(o.values))
	case "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "/ReplicationController":
		return ratio(o.count(0, "status", "readyReplicas"), o.count(1, "spec", "replicas"))
	case "apps/DaemonSet":
		return ratio(o.count(0, "status", "numberReady"), o.count(0, "status", "desiredNumberScheduled"))
	case "batch/Job":
		return ratio(o.count(0, "status", "succeeded"), o.count(1, "spec", "completions"))
	case "discovery.k8s.io/EndpointSlice":
		return o.readyEndpoints()
	}
	want, wanted := o.number("spec", "replicas")
	have, counted := o.number("status", "readyReplicas")
	if !counted {
		have, counted = o.number("status", "availableReplicas")
	}
	if !wanted || !counted {
		return ""
	}
	return ratio(have, want)
}

func ratio(have, want int64) string { return fmt.Sprintf("%d/%d", have, want) }

// readyEndpoints counts the endpoints of a slice: one whose readiness is not told is ready, as the API has it.
func (o subject) readyEndpoints() string {
	endpoints := o.maps("endpoints")
	ready := 0
	for _, e := range endpoints {
		if told, ok := e.at("conditions", "ready").(bool); !ok || told {
			ready++
		}
	}
	return ratio(int64(ready), int64(len(endpoints)))
}

// worstCondition is the first of the conditions that is bad; those are sorted first.
func (o subject) worstCondition() (Condition, bool) {
	if len(o.conditions) > 0 && o.conditions[0].Bad {
		return o.conditions[0], true
	}
	return Condition{}, false
}

// degradedIfBad is the status, or Degraded if it is Current and a condition is bad.
func (o subject) degradedIfBad(s Status) Status {
	if c, bad := o.worstCondition(); bad && s.Status == Current {
		s.Status, s.Reason, s.Message = Degraded, c.text(), c.Message
	}
	return s
}
