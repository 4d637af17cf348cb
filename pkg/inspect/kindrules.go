package inspect

import "fmt"

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

// readyEndpoints counts the endpoints of a slice: by the API's definition one whose readiness is not set is ready.
func (o subject) readyEndpoints() string {
	endpoints := o.maps("endpoints")
	ready := 0
	for _, e := range endpoints {
		if reported, ok := e.at("conditions", "ready").(bool); !ok || reported {
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
