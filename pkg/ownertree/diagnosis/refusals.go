package diagnosis

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	podsecurity "k8s.io/pod-security-admission/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// triesAgain is what comes of what was refused before, and would not be now.
const triesAgain = "its controller tries again, later each time"

// enforced matches the level of pod security that a pod violates.
var enforced = regexp.MustCompile(`violates PodSecurity "(\w+):`)

// ReadRefusers reads what the causes say to refuse writes, as it is now: webhooks, how they are configured and whether
// what they call can answer, and whether quotas, policies and limit ranges would still refuse; and why a Deployment is
// stuck. It reads nothing if no cause is of these. What could not be read is added to Incomplete. Like setting Trials,
// it must come before the last Diagnose, and not while another method is called; the error is not nil only if ctx has
// ended.
func (s *Situation) ReadRefusers(ctx context.Context, reader *cluster.Reader, now time.Time) error {
	var names []string
	r := &situationReader{Situation: s, reader: reader, now: now, unread: s.Incomplete}
	for _, c := range s.Diagnose(now).Causes {
		if name, ok := webhookOf(&c.Cause); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
		r.allowsNow(ctx, c)
		r.misscaledOf(ctx, c)
	}
	if len(names) > 0 {
		s.webhooks = map[string]*webhook{}
		r.configurations(ctx, names)
	}
	for _, hook := range s.webhooks {
		if hook.service != nil {
			r.stateOf(ctx, hook)
		}
	}
	s.Incomplete = cluster.SortIncomplete(r.unread)
	if ctx.Err() != nil {
		return fmt.Errorf("reading what refuses writes: %w", context.Cause(ctx))
	}
	return nil
}

// refusalOf identifies a refusal: what was refused is created in a namespace, and the words are those of the refusal.
type refusalOf struct{ namespace, name, detail string }

// refusalNow is what is known of a refusal at present: why it would be allowed, which may be empty, or that what
// refused it could not be read.
type refusalNow struct {
	allowed string
	unread  bool
}

func refusalIn(n *ownertree.Node, c *inspect.Cause) refusalOf {
	out := refusalOf{namespace: n.Namespace, detail: c.Detail}
	if c.Refers != nil {
		out.name = c.Refers.Kind + "/" + c.Refers.Name
	}
	return out
}

// allowsNow finds out whether what has refused a write would allow it now, and notes why.
func (r *situationReader) allowsNow(ctx context.Context, c *Cause) {
	unread, why := len(r.unread), ""
	switch {
	case c.Type == inspect.MissingObject && c.Refers != nil && c.Refers.Namespace == "":
		kind := r.kind(c.Refers.Group, c.Refers.Kind)
		if kind == nil || kind.Namespaced {
			return
		}
		if _, err := r.reader.Metadata(ctx, *kind, "", c.Refers.Name); err == nil {
			why = "it exists"
		}
	case c.Type.IsRefusal():
		why = r.allowedBy(ctx, c)
	default:
		return
	}
	if r.refusals == nil {
		r.refusals = map[refusalOf]refusalNow{}
	}
	r.refusals[refusalIn(c.Node(), &c.Cause)] = refusalNow{allowed: why, unread: len(r.unread) > unread}
}

// allowedBy says why a write that was refused would be allowed now; empty if it would not, or that is not known.
func (r *situationReader) allowedBy(ctx context.Context, c *Cause) string {
	namespace := c.Node().Namespace
	switch {
	case c.Type == inspect.QuotaExceeded && c.Refers != nil:
		refuses := func(obj *unstructured.Unstructured) string {
			var quota corev1.ResourceQuota
			if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &quota) != nil {
				return ""
			}
			return roomIn(&quota, c.Detail)
		}
		return r.goneOr(ctx, "", "ResourceQuota", namespace, c.Refers.Name, refuses)
	case c.Type == inspect.AdmissionDenied && c.Refers != nil && c.Refers.Kind == "ValidatingAdmissionPolicy":
		refuses := func(*unstructured.Unstructured) string { return "" }
		return r.goneOr(ctx, admissionv1.GroupName, c.Refers.Kind, "", c.Refers.Name, refuses)
	case c.Type == inspect.AdmissionDenied && enforced.MatchString(c.Detail):
		level := enforced.FindStringSubmatch(c.Detail)[1]
		return r.goneOr(ctx, "", "Namespace", "", namespace, func(obj *unstructured.Unstructured) string {
			if obj.GetLabels()[podsecurity.EnforceLevelLabel] == level {
				return ""
			}
			return "namespace " + namespace + " does not enforce " + level + " any more"
		})
	case c.Type == inspect.LimitRangeViolated:
		return r.withoutLimitRange(ctx, namespace)
	}
	return ""
}

// withoutLimitRange says that a namespace has no LimitRange; empty if it has, or that is not known.
func (r *situationReader) withoutLimitRange(ctx context.Context, namespace string) string {
	kind := r.kind("", "LimitRange")
	if kind == nil {
		return ""
	}
	out := "the namespace has no LimitRange any more"
	target := cluster.Target{Kind: *kind, Namespace: namespace}
	err := r.reader.ListObjects(ctx, target, cluster.ListOptions{}, func(*unstructured.Unstructured) error {
		out = ""
		return nil
	})
	if err != nil {
		r.unread = append(r.unread, target.Incomplete(err))
		return ""
	}
	return out
}

// goneOr reads an object, and says that it does not exist any more, or what judge says of it.
func (r *situationReader) goneOr(
	ctx context.Context, group, kindName, namespace, name string, judge func(*unstructured.Unstructured) string,
) string {
	kind := r.kind(group, kindName)
	if kind == nil {
		return ""
	}
	obj, err := r.reader.Object(ctx, *kind, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s/%s does not exist any more", kindName, name)
	case err != nil:
		r.unread = append(r.unread, cluster.Target{Kind: *kind, Namespace: namespace}.Incomplete(err))
		return ""
	}
	return judge(obj)
}

// roomIn says how much of a quota is used if it has room for what it has refused, by the words of the refusal:
// "requested: pods=1, used: pods=3, limited: pods=3", or "must specify limits.cpu for: web". It is empty if the quota
// has no room, or if that cannot be told.
func roomIn(quota *corev1.ResourceQuota, refusal string) string {
	if _, missing, ok := strings.Cut(refusal, "must specify "); ok {
		for name := range quota.Spec.Hard {
			if strings.Contains(missing, string(name)) {
				return ""
			}
		}
		return "ResourceQuota/" + quota.Name + " does not count that any more"
	}
	requested, _, ok := strings.Cut(strings.TrimPrefix(refusal, "requested: "), ", used: ")
	if !ok {
		return ""
	}
	var room []string
	for amount := range strings.SplitSeq(requested, ",") {
		name, text, _ := strings.Cut(amount, "=")
		request, err := resource.ParseQuantity(text)
		if err != nil {
			return ""
		}
		limit, counted := quota.Spec.Hard[corev1.ResourceName(name)]
		used, known := quota.Status.Used[corev1.ResourceName(name)]
		if !counted {
			continue
		}
		request.Add(used)
		if !known || request.Cmp(limit) > 0 {
			return ""
		}
		room = append(room, fmt.Sprintf("%s: %s of %s used", name, used.String(), limit.String()))
	}
	if len(room) == 0 {
		return "ResourceQuota/" + quota.Name + " does not count that any more"
	}
	return "ResourceQuota/" + quota.Name + " has room now, " + strings.Join(room, ", ")
}

// refusedBefore changes the cause that a write is refused by something that would allow it now: that was before. It is
// only likely if that could not be read.
func (d *diagnoser) refusedBefore(n *ownertree.Node, c *inspect.Cause) {
	now := d.refusals[refusalIn(n, c)]
	why := now.allowed
	if name, ok := webhookOf(c); ok && d.webhooks[name] != nil && d.webhooks[name].gone {
		why = "there is no webhook " + name + " any more"
	}
	if now.unread && c.Certainty == inspect.Certain {
		c.Certainty = inspect.Likely
	}
	switch {
	case why == "":
		return
	case c.Type == inspect.MissingObject:
		existsBefore(c)
		return
	case !c.Type.IsRefusal():
		return
	}
	c.Type, c.Certainty, c.Part, c.Refers = inspect.RefusedBefore, inspect.Likely, "", nil
	c.Detail = why + "; " + triesAgain
}
