package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// typeName is the object as kubectl takes it: deployment/web, certificate.cert-manager.io/shop.
func typeName(n *ownertree.Node) string {
	switch n.Kind.Group {
	case "", "apps", "batch", "autoscaling", "policy":
		return strings.ToLower(n.Kind.Kind) + "/" + n.Name
	}
	return n.String()
}

// isCustomGroup reports whether a group is none of Kubernetes' own.
func isCustomGroup(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// workload is the highest owner of an object that has a pod template; the object itself if none has.
func workload(n *ownertree.Node) *ownertree.Node {
	top := n
	for at, steps := n, 0; at != nil && steps < 8; steps++ {
		if hasTemplate(at) {
			top = at
		}
		var owner *ownertree.Node
		for i := range at.Owners {
			if o := &at.Owners[i]; o.Node != nil && (owner == nil || o.Controller != nil && *o.Controller) {
				owner = o.Node
			}
		}
		at = owner
	}
	return top
}

func hasTemplate(n *ownertree.Node) bool {
	switch n.Kind.GroupKind().String() {
	case "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "CronJob.batch",
		"ReplicationController":
		return true
	}
	return false
}

// forObject are the commands that show an object of which nothing else is known.
func (m commandMaker) forObject(n *ownertree.Node) []v1alpha1.Command {
	l := &commandList{maker: m}
	l.look(n.Namespace, "describe %s", typeName(n))
	return l.all
}

// of returns the commands for a cause, those that only show something first.
func (m commandMaker) of(c *diagnosis.Cause) []v1alpha1.Command {
	l := &commandList{maker: m}
	n := c.Node()
	switch c.Type {
	case inspect.ImagePull, inspect.ContainerExits, inspect.OutOfMemory, inspect.LivenessProbe, inspect.StartupProbe,
		inspect.ReadinessProbe, inspect.ContainerNotStarted, inspect.PodFailed, inspect.InitContainerRunning,
		inspect.SandboxFailed, inspect.ReadinessGate, inspect.PodStarting, inspect.ContainerRunsOn:
		l.container(c, n)
	case inspect.MissingObject, inspect.MissingKey:
		l.missing(c, n)
	case inspect.MissingBefore, inspect.RefusedBefore, inspect.NameTooLong, inspect.VolumeNotBound:
		l.another(c, n)
	case inspect.Unschedulable, inspect.SchedulingGated, inspect.NotScheduled:
		l.scheduling(c, n)
	case inspect.Paused, inspect.HeldByQueue:
		l.resume(c, n)
	case inspect.QuotaExceeded, inspect.LimitRangeViolated, inspect.AdmissionDenied, inspect.WebhookUnreachable,
		inspect.WriteRefused, inspect.AccessDenied:
		l.refused(c, n)
	case inspect.GenerationNotSeen, inspect.NoStatus:
		l.controller(c, n)
	case diagnosis.Stuck:
		l.look(n.Namespace, "describe %s", typeName(n))
		if r := c.Refers; r != nil {
			l.change("its controller writes it anew", n.Namespace, "annotate replicaset %s %s", r.Name,
				diagnosis.DesiredReplicas+"-")
		}
	case inspect.Finalizer, diagnosis.DependentsRemain, diagnosis.PodNotStopped, inspect.NamespaceContent,
		diagnosis.DanglingOwner:
		l.deletion(c, n)
	case diagnosis.NoPodSelected, diagnosis.NoEndpoints, diagnosis.PortMissing, inspect.NoAddress:
		l.network(c, n)
	case inspect.BackoffLimit, inspect.JobDeadline, inspect.PodFailurePolicy, inspect.BadSchedule, inspect.BadTimeZone,
		inspect.ScheduleMissed, inspect.JobStillActive:
		l.jobs(c, n)
	case inspect.MetricsUnavailable, inspect.AtLimit, inspect.EvictionBlocked, inspect.FieldFight,
		diagnosis.Rewritten:
		l.scaling(c, n)
	default:
		l.others(c, n)
	}
	return l.ordered()
}

// container is for pods whose containers do not run.
func (l *commandList) container(c *diagnosis.Cause, pod *ownertree.Node) {
	w := workload(pod)
	_, container, named := strings.Cut(c.Part, "container ")
	l.look(pod.Namespace, "describe pod %s", pod.Name)
	switch c.Type { //nolint:exhaustive // the others need nothing in particular
	case inspect.ContainerExits, inspect.LivenessProbe, inspect.OutOfMemory:
		switch {
		case named && strings.Contains(c.Detail, "restarted") || c.Type == inspect.LivenessProbe:
			l.look(pod.Namespace, "logs %s -c %s --previous", pod.Name, container)
		case named:
			l.look(pod.Namespace, "logs %s -c %s", pod.Name, container)
		}
	case inspect.ReadinessProbe, inspect.StartupProbe, inspect.InitContainerRunning, inspect.ContainerRunsOn:
		if named {
			l.look(pod.Namespace, "logs %s -c %s", pod.Name, container)
		}
	case inspect.ReadinessGate, inspect.PodStarting:
		return
	}
	switch {
	case c.Type == inspect.ImagePull && strings.HasSuffix(c.Detail, "access denied"):
		l.change("with the registry's credentials, to be named in imagePullSecrets", pod.Namespace,
			createPullSecret, "NAME")
	case c.Type == inspect.ImagePull && named:
		l.template("to an image that can be pulled", w, "set image %s %s=IMAGE", typeName(w), container)
	case c.Type == inspect.OutOfMemory && named:
		l.template("more memory", w, "set resources %s -c %s --limits=memory=SIZE", typeName(w), container)
	case c.Type == inspect.PodFailed:
		if isReplaced(pod) {
			l.last("clears it away: it has been replaced", pod.Namespace, "delete pod %s", pod.Name)
		}
		return
	case c.Type == inspect.SandboxFailed:
		return
	case c.Type == inspect.LivenessProbe, c.Type == inspect.StartupProbe, c.Type == inspect.ReadinessProbe:
		l.template("the probe, or what it asks", w, "")
	case c.Type == inspect.ContainerRunsOn:
		l.template("as a sidecar, which ends with the others: an init container with restartPolicy Always", w, "")
	case w.Kind.Kind == "Job":
		l.template("mended", w, "")
	}
	l.undo(c)
}

const createPullSecret = "create secret docker-registry %s --docker-server=SERVER " +
	"--docker-username=USER --docker-password=PASSWORD"

// isReplaced reports whether the owner of a pod has made another since.
func isReplaced(pod *ownertree.Node) bool {
	for i := range pod.Owners {
		owner := pod.Owners[i].Node
		if owner != nil && slices.ContainsFunc(owner.Dependents, func(other *ownertree.Node) bool {
			return other.Kind == pod.Kind && other != pod && !other.Created.Before(&pod.Created)
		}) {
			return true
		}
	}
	return false
}

// missing is for what does not exist.
func (l *commandList) missing(c *diagnosis.Cause, n *ownertree.Node) {
	r := c.Refers
	kind := strings.ToLower(r.Kind)
	if isCustomGroup(r.Group) {
		kind += "." + r.Group
	}
	if r.Key != "" {
		l.look(r.Namespace, "describe %s %s", kind, r.Name)
		l.change("add the key "+r.Key, r.Namespace, "edit %s %s", kind, r.Name)
		return
	}
	l.look(r.Namespace, "get %s", kind)
	switch r.Kind {
	case "ConfigMap":
		l.change("or apply the one that is missing", r.Namespace, "create configmap %s --from-file=FILE", r.Name)
	case "Secret":
		l.secret(c)
	case "ServiceAccount":
		l.change("", r.Namespace, "create serviceaccount %s", r.Name)
	case "PriorityClass":
		l.change("", "", "create priorityclass %s --value=NUMBER", r.Name)
	case "Node":
	default:
		l.change("with the "+r.Kind+" "+r.Name, r.Namespace, "apply -f FILE")
	}
	if w := workload(n); c.Type == inspect.MissingObject && w != n || hasTemplate(n) {
		l.template("or name another", w, "")
	} else if n.Kind.Group != "" && len(n.Owners) == 0 {
		l.change("or name another", n.Namespace, "edit %s", typeName(n))
	}
}

// secret is for a Secret that does not exist, of the type that what uses it expects: with another it would be there,
// and not work.
func (l *commandList) secret(c *diagnosis.Cause) {
	r := c.Refers
	const what = "or apply the one that is missing"
	switch {
	case c.Detail == "has TLS from", c.Detail == "names in certificateRefs":
		l.change(what, r.Namespace, "create secret tls %s --cert=FILE --key=FILE", r.Name)
	case c.Detail == "pulls images with":
		l.change(what, r.Namespace, createPullSecret, r.Name)
	case isCustomGroup(c.Node().Kind.Group):
		l.change("with the Secret "+r.Name, r.Namespace, "apply -f FILE")
	default:
		l.change(what, r.Namespace, "create secret generic %s --from-file=FILE", r.Name)
	}
}

// refused is for writes that the API server refuses.
func (l *commandList) refused(c *diagnosis.Cause, n *ownertree.Node) {
	w := workload(n)
	switch c.Type { //nolint:exhaustive // those that are given here
	case inspect.QuotaExceeded:
		l.look(n.Namespace, "describe resourcequota %s", c.Refers.Name)
		if l.setResources(c, w) {
			return
		}
		l.setDefaults(c, w)
		l.change("a higher limit", n.Namespace, "edit resourcequota %s", c.Refers.Name)
		if w.Kind.Kind == "Deployment" || w.Kind.Kind == "StatefulSet" {
			l.change("or fewer pods", w.Namespace, "scale %s --replicas=COUNT", typeName(w))
		}
	case inspect.LimitRangeViolated:
		l.look(n.Namespace, "describe limitrange")
		if m := belowRequest.FindStringSubmatch(c.Detail); m != nil {
			l.template("at least the request: a LimitRange sets a lower one by default", w,
				"set resources %s --limits=%s=AMOUNT", typeName(w), m[1])
			return
		}
		l.template("requests and limits within the range", w, "")
	case inspect.WebhookUnreachable:
		l.webhook(c)
	case inspect.AccessDenied:
		if account := accountIn(c.Detail); account != "" {
			l.look(n.Namespace, "auth can-i --list --as %s", account)
		} else {
			l.look(n.Namespace, "auth can-i --list")
		}
	default:
		if strings.Contains(c.Detail, "PodSecurity") {
			l.look("", "get namespace %s --show-labels", n.Namespace)
		}
		if c.Refers != nil {
			l.look(c.Refers.Namespace, "describe %s %s", strings.ToLower(c.Refers.Kind), c.Refers.Name)
		}
		l.look(n.Namespace, "describe %s", typeName(n))
		if !slices.ContainsFunc(c.Evidence, changesPods) { // which the template does not
			l.template("as the refusal says", w, "")
		}
	}
}

// changesPods reports whether evidence is of a change of pods that are there, which a controller tried in dry run.
func changesPods(e inspect.Evidence) bool {
	return e.Source == inspect.FromController && strings.Contains(e.Text, "in dry run: patch pods ")
}

// account matches the name of a service account as a user.
var account = regexp.MustCompile(`system:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+`)

// accountIn is the service account that a text names; empty if it names none.
func accountIn(text string) string { return account.FindString(text) }

// webhook is for an admission webhook that does not answer.
func (l *commandList) webhook(c *diagnosis.Cause) {
	configurations := "get validatingwebhookconfigurations,mutatingwebhookconfigurations"
	for _, e := range c.Evidence {
		kind, name, ok := strings.Cut(e.Name, "/")
		if e.Source != inspect.FromObject || !ok {
			continue
		}
		switch kind {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			configurations = ""
			l.look("", "get %s %s -o yaml", strings.ToLower(kind), name)
		case "Service":
			if c.Refers != nil && c.Refers.Kind == kind {
				l.own(c.Refers.Namespace, "why %s", "service/"+name)
			}
		}
	}
	if configurations != "" {
		l.look("", configurations)
	}
}

// controller is for objects whose controller does not act on them.
func (l *commandList) controller(c *diagnosis.Cause, n *ownertree.Node) {
	for _, e := range c.Evidence {
		if e.Source == inspect.FromLease {
			l.look("kube-system", "get lease %s -o yaml", e.Name)
			l.look("kube-system", "get pods -l component=%s", e.Name)
		}
	}
	l.look(n.Namespace, "get %s -o yaml --show-managed-fields", typeName(n))
	if isCustomGroup(n.Kind.Group) {
		l.look("", "get pods -A")
	}
}

// deletion is for what is being deleted.
func (l *commandList) deletion(c *diagnosis.Cause, n *ownertree.Node) {
	switch c.Type { //nolint:exhaustive // those that are given here
	case inspect.Finalizer:
		if c.Detail == "kubernetes.io/pvc-protection" {
			l.look(n.Namespace, "describe %s", typeName(n)) // names the pods that use it
		}
		l.look(n.Namespace, "get %s -o jsonpath=%s", typeName(n), "{.metadata.finalizers}")
		if index := slices.Index(n.Finalizers, c.Detail); index >= 0 && c.Weight == inspect.Specific {
			path := fmt.Sprintf("/metadata/finalizers/%d", index)
			patch := fmt.Sprintf(`[{"op":"test","path":%[1]q,"value":%[2]q},{"op":"remove","path":%[1]q}]`,
				path, c.Detail)
			l.change("only if its controller is gone for good: what it would clean up stays", n.Namespace,
				"patch %s --type json -p %s", typeName(n), patch)
		}
	case diagnosis.PodNotStopped:
		l.look(n.Namespace, "describe pod %s", n.Name)
		l.last("only if its node is gone for good", n.Namespace, "delete pod %s --force --grace-period=0", n.Name)
	case inspect.NamespaceContent:
		l.look("", "get namespace %s -o yaml", n.Name)
		l.own(n.Name, "tree")
	case diagnosis.DanglingOwner:
		l.own(n.Namespace, "tree %s", typeName(n))
		l.change("keeps it, without an owner", n.Namespace, "patch %s --type merge -p %s",
			typeName(n), `{"metadata":{"ownerReferences":null}}`)
	default:
		l.own(n.Namespace, "tree %s", typeName(n))
	}
}

// network is for Services and Ingresses.
func (l *commandList) network(c *diagnosis.Cause, n *ownertree.Node) {
	switch c.Type { //nolint:exhaustive // those that are given here
	case diagnosis.NoPodSelected:
		l.look(n.Namespace, "get pods --show-labels")
		l.change("the labels of the pods it is for", n.Namespace, "set selector service %s KEY=VALUE", n.Name)
	case diagnosis.NoEndpoints:
		if r := c.Refers; r != nil {
			l.own(n.Namespace, "why %s", strings.ToLower(r.Kind)+"/"+r.Name)
		}
		l.look(n.Namespace, "get endpointslices -l %s", "kubernetes.io/service-name="+n.Name)
		if r := c.Refers; r != nil && strings.HasSuffix(c.Detail, "scaled to 0") {
			l.change("if it is to run", r.Namespace, "scale %s --replicas=COUNT", strings.ToLower(r.Kind)+"/"+r.Name)
		}
	case diagnosis.PortMissing:
		if c.Refers != nil {
			l.look(c.Refers.Namespace, "get service %s", c.Refers.Name)
		} else {
			l.look(n.Namespace, "get service %s -o yaml", n.Name)
		}
		l.change("the port", n.Namespace, "edit %s", typeName(n))
	default:
		l.look(n.Namespace, "describe %s", typeName(n))
		if n.Kind.GroupKind() == (schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}) {
			l.look("", "get ingressclasses")
		}
	}
}

// jobs is for Jobs and CronJobs that end in failure, or do not start.
func (l *commandList) jobs(c *diagnosis.Cause, n *ownertree.Node) {
	w := workload(n)
	switch c.Type { //nolint:exhaustive // those that are given here
	case inspect.BackoffLimit, inspect.JobDeadline, inspect.PodFailurePolicy:
		l.look(n.Namespace, "logs job/%s --all-containers", n.Name)
		l.template("mended", w, "")
		if w == n {
			l.last("and apply it again: what it has done is done again", n.Namespace, "delete job %s", n.Name)
		} else if w.Kind.Kind == "CronJob" {
			l.change("a Job at once", n.Namespace, "create job NAME --from=cronjob/%s", w.Name)
		}
	case inspect.BadSchedule, inspect.BadTimeZone, inspect.ScheduleMissed:
		l.look(n.Namespace, "describe cronjob %s", n.Name)
		l.change("", n.Namespace, "edit cronjob %s", n.Name)
		l.change("a Job at once", n.Namespace, "create job NAME --from=cronjob/%s", n.Name)
	case inspect.JobStillActive:
		l.look(n.Namespace, "describe cronjob %s", n.Name)
		job, _, _ := strings.Cut(strings.TrimSuffix(c.Detail, " still runs"), ", ")
		l.own(n.Namespace, "why %s", "job/"+job)
		l.change("its concurrencyPolicy, or a deadline of its Jobs", n.Namespace, "edit cronjob %s", n.Name)
	}
}

// scaling is for what decides how many pods there are, or may be fewer: autoscalers, budgets, and others who set
// spec.replicas.
func (l *commandList) scaling(c *diagnosis.Cause, n *ownertree.Node) {
	switch c.Type { //nolint:exhaustive // those that are given here
	case inspect.MetricsUnavailable:
		l.look(n.Namespace, "describe %s", typeName(n))
		if !strings.Contains(c.Detail, "missing request") {
			l.look("", "get apiservices")
		}
	case inspect.AtLimit:
		l.look(n.Namespace, "describe %s", typeName(n))
		l.change("a higher maximum", n.Namespace, "patch %s --type merge -p %s",
			typeName(n), `{"spec":{"maxReplicas":COUNT}}`)
	case inspect.EvictionBlocked:
		name, namespace := n.Name, n.Namespace
		if c.Refers != nil {
			name, namespace = c.Refers.Name, c.Refers.Namespace
		}
		l.look(namespace, "describe poddisruptionbudget %s", name)
		what := "more replicas, or a smaller budget"
		if c.Certainty == inspect.Certain && n.Kind.Kind == "Node" {
			what = "so that it does not select these pods"
		}
		l.change(what, namespace, "edit poddisruptionbudget %s", name)
	case diagnosis.Rewritten:
		l.look(n.Namespace, "get %s -w -o yaml --show-managed-fields", typeName(n))
	case inspect.FieldFight:
		l.look(n.Namespace, "get %s -o yaml --show-managed-fields", typeName(n))
		l.own(n.Namespace, "why %s --field %s", typeName(n), cmp.Or(c.Part, "spec"))
		if c.Refers != nil {
			l.change("what is applied, without spec.replicas: the autoscaler sets it", n.Namespace, "apply -f FILE")
			l.last("or do without it", c.Refers.Namespace, "delete horizontalpodautoscaler %s", c.Refers.Name)
		}
	}
}

// others are the commands of the other types.
func (l *commandList) others(c *diagnosis.Cause, n *ownertree.Node) {
	switch c.Type { //nolint:exhaustive // those that need more than to be described
	case inspect.ProgressDeadline:
		l.look(n.Namespace, "rollout status %s --timeout=1s", typeName(n))
		l.undo(c)
	case inspect.WaitsForDeletion:
		l.look(n.Namespace, "get controllerrevisions")
		l.last("each pod that is to be replaced", n.Namespace, "delete pod POD")
	case inspect.NodeNotReady:
		l.look("", "describe node %s", n.Name)
		l.look("kube-node-lease", "get lease %s", n.Name)
	case inspect.HandedOver:
		l.look(n.Namespace, "describe %s", typeName(n))
		l.look("", "get pods -A")
	case inspect.APIUnavailable:
		l.look("", "get apiservices")
		if len(c.Chain) > 1 {
			l.own("", "why %s", typeName(n)) // which reads the namespace of its Service
		}
		l.look(n.Namespace, "describe %s", typeName(n))
	case inspect.VolumeReleased:
		l.look("", "describe %s", typeName(n))
		l.release(c, n.Name)
	case inspect.MadeAgain:
		l.look(n.Namespace, "get replicasets -o wide")
		l.look("", "get mutatingwebhookconfigurations")
		l.look("", "get mutatingadmissionpolicies") // which older clusters do not have
	case diagnosis.OldRevision:
		l.look(n.Namespace, "get pods --show-labels")
		l.look(n.Namespace, "get controllerrevisions")
		l.last("its controller makes it again from the latest template; its claims stay", n.Namespace,
			"delete pod %s", n.Name)
	case inspect.ConditionFailed:
		l.look(n.Namespace, "describe %s", typeName(n))
		if n.Kind.Kind == "PodDisruptionBudget" && strings.Contains(c.Detail, "scale subresource") {
			l.change("a number of pods: of this owner it cannot be read how many are wanted", n.Namespace,
				"patch %s --type merge -p %s", typeName(n), `{"spec":{"maxUnavailable":null,"minAvailable":COUNT}}`)
		}
	case inspect.VolumeNotAttached:
		l.look(n.Namespace, "describe %s", typeName(n))
		if c.Refers != nil {
			l.look("", "describe volumeattachment %s", c.Refers.Name)
			l.last("the pod that still uses it on the other node", n.Namespace, "delete pod POD")
		}
	default:
		l.look(n.Namespace, "describe %s", typeName(n))
	}
}
