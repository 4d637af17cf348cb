package inspect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// podCauses goes by what the pod's status says: see subject.pod, which determines its status in the same order.
func (f *causeFinder) podCauses() {
	if f.Text("metadata", "deletionTimestamp") != "" || f.report.Current() {
		return
	}
	containers := containersOf(f.Map)
	switch f.Text("status", "phase") {
	case "Failed":
		f.failedPodCauses(containers)
		return
	case "Unknown":
		return // its node says why
	}
	if f.notScheduled() {
		return
	}
	for _, c := range containers {
		if c.cannotRun() {
			f.containerCauses(c)
		}
	}
	if len(f.found) == 0 {
		for _, c := range containers {
			f.waitingContainer(c)
		}
		f.runsOn(containers)
	}
	f.setupEvents(containers)
	if gate := f.missingGate(); gate != "" && f.condition("ContainersReady").Status == "True" {
		c := Cause{Type: ReadinessGate, Certainty: Certain, Weight: Specific, Detail: gate}
		c.evident("spec.readinessGates", gate, nil)
		f.add(c)
	}
	if c := f.resize(); c.Status == "True" && len(f.found) == 0 {
		cause := Cause{
			Type: ConditionFailed, Certainty: Certain, Weight: General, Part: "condition " + c.Type,
			Detail: reasonOf(c), Evidence: []Evidence{conditionEvidence(c)}, Since: c.Since,
		}
		if c.Reason == "" {
			cause.Type, cause.Weight, cause.Detail = InProgressState, Symptom, c.Type
		}
		f.add(cause)
	}
	if len(f.found) == 0 {
		f.add(Cause{Type: PodStarting, Certainty: f.whileStarting(), Weight: Symptom, Detail: f.report.Reason})
	}
}

// failedPodCauses is for a pod whose phase is Failed.
func (f *causeFinder) failedPodCauses(containers []Container) {
	if reason := f.Text("status", "reason"); reason != "" {
		c := Cause{
			Type: PodFailed, Certainty: Certain, Weight: Specific,
			Detail: withReason(reason, firstLine(f.Text("status", "message"))),
		}
		c.evident("status.reason", c.Detail, nil)
		f.add(c)
		return
	}
	if ended := f.condition("DisruptionTarget"); ended.Status == "True" { // its containers exit because of that
		f.add(Cause{
			Type: PodFailed, Certainty: Certain, Weight: Specific, Since: ended.Since,
			Detail: withReason(ended.Reason, firstLine(ended.Message)), Evidence: []Evidence{conditionEvidence(ended)},
		})
		return
	}
	for _, c := range containers {
		if c.failed() {
			f.containerCauses(c)
		}
	}
	if len(f.found) == 0 {
		c := Cause{Type: PodFailed, Certainty: Certain, Weight: General, Detail: cmp.Or(f.report.Reason, "failed")}
		c.evident("status.phase", "Failed", nil)
		f.add(c)
	}
}

// notScheduled is for a pod that has no node, and reports whether it is one.
func (f *causeFinder) notScheduled() bool {
	scheduled := f.condition("PodScheduled")
	switch {
	case scheduled.Status == "False" && scheduled.Reason == "SchedulingGated":
		f.add(Cause{
			Type: SchedulingGated, Certainty: Certain, Weight: Specific,
			Detail: f.report.Reason, Evidence: []Evidence{conditionEvidence(scheduled)},
		})
	case scheduled.Status == "False":
		message, _, _ := strings.Cut(firstLine(scheduled.Message), " preemption: ")
		c := Cause{
			Type: Unschedulable, Certainty: Certain, Weight: Specific, Detail: cmp.Or(message, scheduled.Reason),
			Evidence: []Evidence{conditionEvidence(scheduled)}, Since: scheduled.Since,
		}
		if strings.Contains(message, "unbound immediate PersistentVolumeClaims") {
			c.Certainty, c.Weight = Likely, General // because of a claim, which may not be readable
		}
		for _, reason := range []string{"NotTriggerScaleUp", "FailedScheduling"} {
			if e, ok := f.events.with("", reason); ok && e.text() != scheduled.Message {
				c.Evidence = append(c.Evidence, e.evidence())
			}
		}
		f.add(c)
	case f.Text("spec", "nodeName") == "" && scheduled.Status != "True":
		c := Cause{
			Type: NotScheduled, Certainty: Likely, Weight: Specific,
			Detail: "no scheduler has considered it", Since: &metav1.Time{Time: f.created},
		}
		name := f.Text("spec", "schedulerName")
		isOther := name != "" && name != "default-scheduler"
		if isOther {
			c.Detail = "the scheduler " + name + " has not considered it"
		}
		if f.observed.Now.Sub(f.created) < SeenWithin {
			c.Certainty, c.Weight = Possible, Symptom
		}
		c.evident("spec.nodeName", "not set", nil)
		if l := f.observed.Lease; l != nil && !isOther {
			c.Evidence = append(c.Evidence, l.evidence(f.observed.Now))
			if l.Expired(f.observed.Now) {
				c.Certainty, c.Detail = Certain, c.Detail+"; "+l.Name+" does not run"
			}
		}
		f.add(c)
	default:
		return false
	}
	return true
}

var (
	missingOfContainer = regexp.MustCompile(`(?i)\b(secret|configmap) "([^"]+)" not found`)
	missingKey         = regexp.MustCompile(`couldn't find key (\S+) in (Secret|ConfigMap) ([^/\s]+)/(\S+)`)
	missingKeyOfVolume = regexp.MustCompile(`references non-existent (?:secret|config) key: (\S+)`)
	missingVolumeFrom  = regexp.MustCompile(
		`(?i)MountVolume\.SetUp failed for volume "([^"]+)"[^:]*: .*?(secret|configmap) "([^"]+)" not found`)
)

// partOf names a container as the part of a pod.
func partOf(c Container) string {
	if c.Type == MainContainer {
		return "container " + c.Name
	}
	return c.Type + " container " + c.Name
}

// stateField is the path of the state of a container.
func (c Container) stateField(state string) string {
	list := map[string]string{
		MainContainer: "containerStatuses", InitContainer: "initContainerStatuses",
		SidecarContainer: "initContainerStatuses", EphemeralContainer: "ephemeralContainerStatuses",
	}[c.Type]
	return "status." + list + "[name=" + c.Name + "]." + state
}

// containerCauses is for a container that cannot start, or does not keep running.
func (f *causeFinder) containerCauses(c Container) {
	message := firstLine(c.Message)
	cause := Cause{Certainty: Certain, Weight: Specific, Part: partOf(c)}
	cause.evident(c.stateField("state"), joinReason(c.Reason, "", message), nil)
	switch {
	case strings.Contains(c.Reason, "Image"),
		c.Reason == "RegistryUnavailable", c.Reason == "SignatureValidationFailed":
		cause.Type = ImagePull
		failed, reported := f.events.with(c.Image, "Failed", "InspectFailed", "ErrImageNeverPull")
		if reported {
			cause.Evidence = append(cause.Evidence, failed.evidence())
		}
		problem := pullProblem(c.Reason, c.Image, message+" "+failed.text())
		cause.Detail = "image " + c.Image + withSeparator(": ", problem)
	case c.Reason == "CreateContainerConfigError" && f.missingFor(&cause, message):
	case c.Reason == "CrashLoopBackOff" || c.State == "terminated":
		f.exited(&cause, c)
	default:
		cause.Type, cause.Detail = ContainerNotStarted, joinReason(c.Reason, "", message)
	}
	f.add(cause)
}

// pullProblem is what a registry answered, in few words; empty if the message does not tell. The name of the image is
// no answer.
func pullProblem(reason, image, message string) string {
	switch reason {
	case "InvalidImageName":
		return "the name is not valid"
	case "ErrImageNeverPull":
		return "it is not on the node, and imagePullPolicy is Never"
	}
	message = strings.ToLower(withoutImage(message, image))
	for _, p := range []struct{ problem, words string }{
		{"the registry limits pulls", "toomanyrequests|rate limit|429 too many requests|status code 429"},
		{
			"access denied",
			"unauthorized|authorization failed|denied|403 forbidden|401 unauthorized|authentication required",
		},
		{"not found", "not found|manifest unknown|name unknown|does not exist|repository does not"},
		{
			"the registry cannot be reached",
			"no such host|connection refused|i/o timeout|dial tcp|deadline exceeded|tls: |x509",
		},
		{"no image for the node's platform", "no match for platform|no matching manifest|exec format"},
		{"no space left on the node", "no space left"},
	} {
		words := strings.Split(p.words, "|")
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) }) {
			return p.problem
		}
	}
	return ""
}

// withoutImage leaves out of a message the words that name the image: as in the spec, with the registry and the
// repository before it that the container runtime adds, and in URLs. An unquoted name of letters alone stays, as it may
// be any word.
func withoutImage(message, image string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(message), func(word string) bool {
		named := strings.Trim(word, ":,")
		return strings.Contains(word, "://") || named == `"`+image+`"` ||
			strings.ContainsAny(image, ":@/") && (named == image || strings.Contains(word, "/"+image))
	}), " ")
}

// missingFor completes a cause by what a message says to be missing, and reports whether it says so.
func (f *causeFinder) missingFor(cause *Cause, message string) bool {
	namespace := f.Text("metadata", "namespace")
	if m := missingKey.FindStringSubmatch(message); m != nil {
		cause.Type = MissingKey
		cause.Refers = &Reference{Kind: m[2], Namespace: m[3], Name: m[4], Key: m[1]}
		return true
	}
	if m := missingOfContainer.FindStringSubmatch(message); m != nil {
		cause.Type = MissingObject
		cause.Refers = &Reference{Kind: objectKind(m[1]), Namespace: namespace, Name: m[2]}
		return true
	}
	return false
}

func objectKind(word string) string {
	if strings.EqualFold(word, "secret") {
		return "Secret"
	}
	return "ConfigMap"
}

// exited completes the cause of a container that has exited.
func (f *causeFinder) exited(cause *Cause, c Container) {
	status := f.containerStatus(c)
	last := status.Sub("state", "terminated")
	if last == nil {
		last = status.Sub("lastState", "terminated")
		if last != nil {
			cause.evident(c.stateField("lastState.terminated"), terminationText(last), timeAt(last, "finishedAt"))
		}
	}
	killed, byProbe := f.events.with(" "+c.Name+" failed ", "Killing")
	switch reason := cmp.Or(last.Text("reason"), c.LastReason, c.Reason); {
	case reason == "OOMKilled":
		cause.Type, cause.Detail = OutOfMemory, f.memoryLimit(c)
	case byProbe && strings.Contains(killed.Message, "startup probe"):
		f.probe(cause, StartupProbe, "Startup", c)
		return
	case byProbe && strings.Contains(killed.Message, "liveness probe"):
		f.probe(cause, LivenessProbe, "Liveness", c)
		return
	case reason == "ContainerCannotRun" || reason == "StartError":
		cause.Type, cause.Detail = ContainerNotStarted, joinReason(reason, "", firstLine(last.Text("message")))
		return
	default:
		cause.Type = ContainerExits
		if c.ExitCode != nil {
			cause.Detail = fmt.Sprintf("exit code %d%s", *c.ExitCode, exitMeaning(*c.ExitCode))
		}
		if message := cutTo(lastLine(last.Text("message")), maxMessageLength); message != "" {
			cause.Detail = strings.TrimPrefix(cause.Detail+": "+message, ": ")
		}
	}
	if c.Restarts > 0 {
		cause.Detail = strings.TrimPrefix(cause.Detail+", restarted "+times(c.Restarts), ", ")
	}
}

// exitMeaning explains the exit codes that shells and the kernel give.
func exitMeaning(code int64) string {
	switch code {
	case 126:
		return " (the command cannot be executed)"
	case 127:
		return " (the command was not found)"
	case 137:
		return " (killed)"
	case 139:
		return " (segmentation fault)"
	case 143:
		return " (terminated)"
	}
	return ""
}

// memoryLimit describes the limit of a container, if its spec has one.
func (f *causeFinder) memoryLimit(c Container) string {
	for _, list := range []string{"containers", "initContainers"} {
		for _, spec := range f.Maps("spec", list) {
			if limit := spec.Text("resources", "limits", "memory"); spec.Text("name") == c.Name && limit != "" {
				return "more than its limit of " + limit
			}
		}
	}
	return "memory of the node, or its limit"
}

func terminationText(last untyped.Map) string {
	text := cmp.Or(last.Text("reason"), "terminated")
	if code, ok := last.Number("exitCode"); ok {
		text += fmt.Sprintf(", exit code %d", code)
	}
	return text + withSeparator(": ", lastLine(last.Text("message")))
}

func timeAt(v untyped.Map, field string) *metav1.Time {
	t, _ := v.Time(field)
	return t
}

// containerStatus is what the kubelet reports of a container; nil if it does not.
func (f *causeFinder) containerStatus(c Container) untyped.Map {
	for _, list := range []string{"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"} {
		for _, s := range f.Maps("status", list) {
			if s.Text("name") == c.Name {
				return s
			}
		}
	}
	return nil
}

// waitingContainer is for a container that runs and is not ready, or has not ended if it must.
func (f *causeFinder) waitingContainer(c Container) {
	cause := Cause{Certainty: Certain, Weight: Specific, Part: partOf(c)}
	running := c.State == "running"
	switch {
	case !running || c.Ready && (c.Type != SidecarContainer || c.Started) || c.Type == EphemeralContainer:
		return
	case c.Restarts > 0 && c.LastReason == "OOMKilled":
		cause.Certainty = Likely
		cause.evident(c.stateField("lastState"), c.LastReason, nil)
		f.exited(&cause, c)
	case c.Type == InitContainer:
		cause.Type, cause.Weight = InitContainerRunning, General
		cause.Detail = "it runs, and the pod starts when it has ended"
		started := timeAt(f.containerStatus(c).Sub("state", "running"), "startedAt")
		cause.evident(c.stateField("state.running"), "running", started)
	case !c.Started && f.hasProbe(c, "startupProbe"):
		f.probe(&cause, StartupProbe, "Startup", c)
	case c.Restarts > 0 && f.killedByProbe(c):
		f.probe(&cause, LivenessProbe, "Liveness", c)
	case f.hasProbe(c, "readinessProbe") || f.failsProbe("Readiness"):
		f.probe(&cause, ReadinessProbe, "Readiness", c)
	case c.Restarts > 0 && c.LastReason != "" && c.LastReason != "Completed":
		cause.Certainty = Likely
		f.exited(&cause, c)
	default:
		return
	}
	f.add(cause)
}

// runsOn is for a pod that is to end, of which a container has ended well and another runs on, as a proxy does.
func (f *causeFinder) runsOn(containers []Container) {
	if policy := f.Text("spec", "restartPolicy"); policy != "Never" && policy != "OnFailure" {
		return
	}
	ended := slices.IndexFunc(containers, func(c Container) bool {
		return c.Type == MainContainer && c.State == "terminated" && c.ExitCode != nil && *c.ExitCode == 0
	})
	if ended < 0 || len(f.found) > 0 {
		return
	}
	last := containers[ended]
	at := timeAt(f.containerStatus(last).Sub("state", "terminated"), "finishedAt")
	for _, c := range containers {
		if c.Type != MainContainer || c.State != "running" {
			continue
		}
		cause := Cause{
			Type: ContainerRunsOn, Certainty: Likely, Weight: Specific, Part: partOf(c), Since: at,
			Detail: "container " + last.Name + " has ended",
		}
		if at == nil || f.observed.Now.Sub(at.Time) < SeenWithin {
			cause.Certainty, cause.Weight = Possible, General
		}
		cause.evident(c.stateField("state.running"), "running", nil)
		cause.evident(last.stateField("state.terminated"), "exit code 0", at)
		f.add(cause)
	}
}

func (f *causeFinder) killedByProbe(c Container) bool {
	_, killed := f.events.with(" "+c.Name+" failed liveness probe", "Killing")
	return killed
}

func (f *causeFinder) failsProbe(sort string) bool {
	_, fails := f.events.with(sort+" probe ", "Unhealthy", "ProbeWarning")
	return fails
}

// hasProbe reports whether the spec of a container has a probe.
func (f *causeFinder) hasProbe(c Container, probe string) bool {
	for _, list := range []string{"containers", "initContainers"} {
		for _, spec := range f.Maps("spec", list) {
			if spec.Text("name") == c.Name && spec.Sub(probe) != nil {
				return true
			}
		}
	}
	return false
}

// probe completes the cause of a container that does not pass a probe. That it has one and is not ready is enough; an
// Event says how it fails.
func (f *causeFinder) probe(cause *Cause, kind CauseType, sort string, c Container) {
	cause.Type = kind
	if len(cause.Evidence) == 0 {
		field := map[CauseType]string{StartupProbe: "started", ReadinessProbe: "ready"}[kind]
		if field != "" {
			cause.evident(c.stateField(field), "false", nil)
		}
	}
	e, reported := f.events.with(sort+" probe ", "Unhealthy", "ProbeWarning")
	if !reported {
		cause.Certainty = Likely
		return
	}
	cause.Evidence = append(cause.Evidence, e.evidence())
	_, detail, _ := strings.Cut(firstLine(e.Message), sort+" probe failed: ")
	cause.Detail = cmp.Or(strings.TrimSpace(detail), firstLine(e.Message))
}

// setupEvents is for a pod whose containers do not start, because something that the kubelet needs for it fails. An
// Event may be older than what the pod reports: the kubelet mounts the volumes, then makes the sandbox, and only then
// does anything for a container (SyncPod of k8s.io/kubernetes/pkg/kubelet).
func (f *causeFinder) setupEvents(containers []Container) {
	isPast := f.condition("PodReadyToStartContainers").Status == "True" ||
		slices.ContainsFunc(containers, func(c Container) bool {
			return c.State == "running" || c.State == "terminated" || c.Restarts > 0 || c.cannotRun()
		})
	if isPast {
		return
	}
	for _, known := range []struct {
		reasons []string
		cause   CauseType
	}{
		{[]string{"FailedAttachVolume"}, VolumeNotAttached},
		{[]string{"FailedMount", "FailedMapVolume"}, VolumeNotMounted},
		{[]string{"FailedCreatePodSandBox", "NetworkNotReady"}, SandboxFailed},
	} {
		e, ok := f.events.with("", known.reasons...)
		if !ok {
			continue
		}
		c := Cause{Type: known.cause, Certainty: Certain, Weight: Specific, Detail: firstLine(e.text())}
		c.Evidence = []Evidence{e.evidence()}
		f.missingForVolume(&c, e.Message)
		f.add(c)
	}
}

// missingForVolume makes the cause of a volume that cannot be mounted one of what is missing, if the message says so.
func (f *causeFinder) missingForVolume(c *Cause, message string) {
	if m := missingVolumeFrom.FindStringSubmatch(message); m != nil {
		c.Type, c.Part = MissingObject, "volume "+m[1]
		c.Refers = &Reference{Kind: objectKind(m[2]), Namespace: f.Text("metadata", "namespace"), Name: m[3]}
		return
	}
	m := missingKeyOfVolume.FindStringSubmatch(message)
	if m == nil {
		return
	}
	for _, v := range f.Maps("spec", "volumes") {
		for _, kind := range []struct{ field, kind, name string }{
			{"secret", "Secret", "secretName"}, {"configMap", "ConfigMap", "name"},
		} {
			if name := v.Text(kind.field, kind.name); name != "" && strings.Contains(message, `"`+v.Text("name")+`"`) {
				c.Type, c.Part = MissingKey, "volume "+v.Text("name")
				c.Refers = &Reference{
					Kind: kind.kind, Namespace: f.Text("metadata", "namespace"), Name: name,
					Key: strings.Trim(m[1], `"`),
				}
			}
		}
	}
}
