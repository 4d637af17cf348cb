package why

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// template adds a command that changes the pod template of a workload; without a format, the one that edits it. Where
// that cannot be changed, as of a Job, it is to be created under another name; where another object sets it, that is to
// be edited.
func (l *commandList) template(what string, w *ownertree.Node, format string, args ...any) {
	owner := w
	for i := range w.Owners {
		if o := &w.Owners[i]; o.Node != nil && o.Controller != nil && *o.Controller {
			owner = o.Node
		}
	}
	switch {
	case owner != w && !hasTemplate(owner):
		l.change(what+", which it sets", owner.Namespace, "edit %s", typeName(owner))
	case w.Kind.Kind == "Job", !hasTemplate(w):
		l.change(strings.TrimPrefix(what, "or ")+"; under another name, because this one cannot be changed",
			w.Namespace, "create -f FILE")
	case format == "":
		l.change(what, w.Namespace, "edit %s", typeName(w))
	default:
		l.change(what, w.Namespace, format, args...)
	}
}

// undo adds the commands that undo the rollout that has led to a cause, if it can be undone.
func (l *commandList) undo(c *diagnosis.Cause) {
	u := c.Undo
	if u == nil {
		return
	}
	w := u.Workload
	if u.Before {
		l.last("back to the revision before", w.Namespace, "rollout undo %s", typeName(w))
	} else {
		l.last("back to the last revision that ran", w.Namespace, "rollout undo %s --to-revision=%d", typeName(w), u.To)
	}
	if n := c.Node(); w.Kind.Kind == "StatefulSet" && n != w {
		l.last("after either: it is not replaced before it is ready", n.Namespace, "delete pod %s", n.Name)
	}
}

var (
	// mustSpecify matches what a quota counts and containers do not set (Constraints of
	// k8s.io/kubernetes/pkg/quota/v1/evaluator/core): "limits.memory for: web,log".
	mustSpecify = regexp.MustCompile(`(requests|limits)\.(\S+) for: ([^;,\s]+)`)
	// belowRequest matches a limit that is below the request of its container.
	belowRequest = regexp.MustCompile(`must be less than or equal to (\S+) limit of`)
)

// setResources adds the commands that set what a quota wants every container to set, and reports whether it wants any.
func (l *commandList) setResources(c *diagnosis.Cause, w *ownertree.Node) bool {
	_, missing, ok := strings.Cut(c.Detail, "must specify ")
	if !ok {
		return false
	}
	set := map[string]map[string][]string{}
	var containers []string
	for _, m := range mustSpecify.FindAllStringSubmatch(missing, -1) {
		if set[m[3]] == nil {
			set[m[3]] = map[string][]string{}
			containers = append(containers, m[3])
		}
		set[m[3]][m[1]] = append(set[m[3]][m[1]], m[2]+"=AMOUNT")
	}
	const what = "the quota counts it, and so it must be set"
	for _, container := range containers {
		var flags strings.Builder
		for _, sort := range []string{"limits", "requests"} {
			if amounts := set[container][sort]; amounts != nil {
				flags.WriteString(" --" + sort + "=" + strings.Join(amounts, ","))
			}
		}
		l.template(what, w, "set resources %s -c %s"+flags.String(), typeName(w), container)
	}
	if len(containers) == 0 {
		l.template(what, w, "")
	}
	return true
}

// unset matches what a template does not set (see setByDefault of pkg/inspect).
var unset = regexp.MustCompile(`containers\[name=(.+)\]\.resources\.(requests|limits)\.(.+)$`)

// setDefaults adds the commands that set in a template what admission sets by default.
func (l *commandList) setDefaults(c *diagnosis.Cause, w *ownertree.Node) {
	for i, e := range c.Evidence {
		m := unset.FindStringSubmatch(e.Name)
		if m == nil {
			continue
		}
		if i == slices.IndexFunc(c.Evidence, func(e inspect.Evidence) bool { return unset.MatchString(e.Name) }) {
			l.look(c.Node().Namespace, "describe limitrange")
		}
		l.template("less than the default", w, "set resources %s -c %s --%s=%s=AMOUNT", typeName(w), m[1], m[2], m[3])
	}
}

// another is for what has to be made under another name or in another way, or only to be tried again.
func (l *commandList) another(c *diagnosis.Cause, n *ownertree.Node) {
	l.look(n.Namespace, "describe %s", typeName(n))
	switch {
	case c.Type == inspect.NameTooLong:
		l.change("under a shorter name, because a name cannot be changed", n.Namespace, "create -f FILE")
		l.last("then this one", n.Namespace, "delete %s", typeName(n))
	case (c.Type == inspect.MissingBefore || c.Type == inspect.RefusedBefore) && hasTemplate(n):
		l.change("its controller acts on a change at once", n.Namespace,
			"annotate %s retried=now --overwrite", typeName(n))
	case c.Type == inspect.VolumeNotBound && c.Refers != nil:
		l.own("", "why %s", "persistentvolume/"+c.Refers.Name)
		if !l.release(c, c.Refers.Name) {
			l.change("a volume that it fits", "", "apply -f FILE")
		}
	}
}

// ownTaint matches the taints that the control plane sets and removes itself.
var ownTaint = regexp.MustCompile(`\bnode\.(?:kubernetes|cloudprovider\.kubernetes)\.io/`)

// scheduling is for pods without a node.
func (l *commandList) scheduling(c *diagnosis.Cause, pod *ownertree.Node) {
	w := workload(pod)
	l.look(pod.Namespace, "describe pod %s", pod.Name)
	switch c.Type { //nolint:exhaustive // those that are given here
	case inspect.NotScheduled:
		if strings.HasPrefix(c.Detail, "no scheduler") { // Kubernetes' own
			l.look("kube-system", "get lease kube-scheduler")
		}
		return
	case inspect.SchedulingGated:
		return
	}
	l.look("", "describe nodes")
	detail := strings.ToLower(c.Detail)
	has := func(words string) bool { return strings.Contains(detail, words) }
	if amounts := insufficient(detail); amounts != "" {
		l.template("less, or add nodes", w, "set resources %s --requests="+amounts, typeName(w))
	}
	if has("free ports") {
		l.hostPort(pod, w)
	}
	if has("untolerated taint") {
		l.tolerate(c, w)
	}
	daemon := w.Kind.Kind == "DaemonSet" && (has("free ports") || has("insufficient") || has("untolerated taint"))
	if (has("pod's node affinity") || has("node selector")) && !daemon { // each pod of a DaemonSet is for one node
		l.template("its node selector and affinity", w, "")
	}
	if has("anti-affinity") || has("pod affinity rules") || has("topology spread") {
		l.template("its affinity to other pods, or how they are spread", w, "")
	}
	if has("were unschedulable") {
		l.change("a node that was cordoned", "", "uncordon NODE")
	}
}

// insufficient returns the amounts to request of what nodes have too little of, if a command can set them.
func insufficient(detail string) string {
	var out []string
	for _, resource := range []string{"cpu", "memory", "ephemeral-storage"} {
		if strings.Contains(detail, "insufficient "+resource) {
			out = append(out, resource+"=AMOUNT")
		}
	}
	return strings.Join(out, ",")
}

// hostPort is for a pod whose ports of the node others have. Its own workload has them if an older revision of a
// Deployment is still there, which is replaced in the place of running beside.
func (l *commandList) hostPort(pod, w *ownertree.Node) {
	older := w.Kind.Kind == "Deployment" && slices.ContainsFunc(w.Dependents, func(revision *ownertree.Node) bool {
		return slices.ContainsFunc(revision.Dependents, func(other *ownertree.Node) bool {
			return other.Kind == pod.Kind && other.Labels["pod-template-hash"] != pod.Labels["pod-template-hash"]
		})
	})
	if older {
		l.change("replaces each pod in its place, instead of beside it", w.Namespace, "patch %s --type merge -p %s",
			typeName(w), `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}`)
		return
	}
	l.template("another hostPort, or none", w, "")
}

// namedTaint matches the key of a taint as some schedulers name it.
var namedTaint = regexp.MustCompile(`untolerated taint \{([^:}]+)`)

// tolerate is for a pod that taints keep away. Those that the control plane sets report that a node does not work.
func (l *commandList) tolerate(c *diagnosis.Cause, w *ownertree.Node) {
	key, node := "", "NODE"
	if m := namedTaint.FindStringSubmatch(c.Detail); m != nil {
		key = m[1]
	}
	for _, e := range c.Evidence {
		name, isNode := strings.CutPrefix(e.Name, "Node/")
		taint, isTaint := strings.CutPrefix(e.Text, "has the taint ")
		switch {
		case !isNode || !isTaint:
		case ownTaint.MatchString(taint):
			l.own("", "why %s", "node/"+name)
		case key == "":
			key, node = taint[:strings.IndexAny(taint, "=:")], name
		}
	}
	if key == "" || ownTaint.MatchString(key) {
		return
	}
	l.template("tolerate the taint "+key, w, "")
	l.last("or remove it", "", "taint nodes %s %s-", node, key)
}

// release releases a volume that is kept for a claim that is gone, of which the evidence has the uid. It reports
// whether that is there.
func (l *commandList) release(c *diagnosis.Cause, volume string) bool {
	uid := ""
	for _, e := range c.Evidence {
		if strings.HasSuffix(e.Name, "spec.claimRef.uid") {
			uid = e.Text
		}
	}
	if uid == "" {
		return false
	}
	patch := `[{"op":"test","path":"/spec/claimRef/uid","value":"` + uid + `"},{"op":"remove","path":"/spec/claimRef"}]`
	l.change("lets the next claim that fits be bound to it; nothing on it is deleted", "",
		"patch persistentvolume/%s --type json -p %s", volume, patch)
	return true
}

// resume is for what is paused by its user, held by a queue, or suspended by its controller.
func (l *commandList) resume(c *diagnosis.Cause, n *ownertree.Node) {
	field := ""
	for _, e := range c.Evidence {
		if e.Source == inspect.FromField && e.Name != "status" {
			field = e.Name
		}
	}
	switch kind := n.Kind.GroupKind().String(); {
	case c.Type == inspect.HeldByQueue:
		l.look(n.Namespace, "describe %s", typeName(n))
		for _, e := range c.Evidence {
			if name, ok := strings.CutPrefix(e.Name, "Workload/"); ok {
				l.look(n.Namespace, "describe workload.kueue.x-k8s.io %s", name)
			}
		}
		if c.Refers != nil && c.Refers.Kind == "LocalQueue" {
			l.look(n.Namespace, "describe localqueue.kueue.x-k8s.io %s", c.Refers.Name)
		}
	case field == "spec.replicas": // of what runs the controller
		l.look(n.Namespace, "describe %s", typeName(n))
		l.change("if it is to run", n.Namespace, "scale %s --replicas=COUNT", typeName(n))
	case kind == "Deployment.apps":
		l.look(n.Namespace, "rollout status %s", typeName(n))
		l.change("", n.Namespace, "rollout resume %s", typeName(n))
	case field == "spec.parallelism":
		l.look(n.Namespace, "get %s -o wide", typeName(n))
		l.change("", n.Namespace, "patch %s --type merge -p %s", typeName(n), `{"spec":{"parallelism":COUNT}}`)
	case kind == "CronJob.batch", kind == "Job.batch":
		l.look(n.Namespace, "get %s -o wide", typeName(n))
		l.last("", n.Namespace, "patch %s --type merge -p %s", typeName(n), `{"spec":{"suspend":false}}`)
	case kind == "Node":
		l.look("", "describe node %s", n.Name)
		l.change("", "", "uncordon %s", n.Name)
	case c.Refers != nil: // what an autoscaler scales
		l.look(n.Namespace, "describe %s", typeName(n))
		l.change("then the autoscaler goes on", n.Namespace, "scale %s --replicas=COUNT",
			strings.ToLower(c.Refers.Kind)+"/"+c.Refers.Name)
	default:
		l.look(n.Namespace, "describe %s", typeName(n))
		if field != "" {
			l.change(field, n.Namespace, "edit %s", typeName(n))
		}
	}
}
