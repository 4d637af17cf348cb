package compare

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// managerUser is kube-controller-manager, all of whose controllers write as it if it does not use service accounts.
const managerUser = "system:kube-controller-manager"

// span is a time; the zero value is none.
type span struct{ from, to time.Time }

func (s *span) add(at time.Time) {
	if s.from.IsZero() || at.Before(s.from) {
		s.from = at
	}
	if at.After(s.to) {
		s.to = at
	}
}

func (s *span) has(at time.Time) bool { return s != nil && !at.Before(s.from) && !at.After(s.to) }

// addAudited sets the controller that sent a request of an audit log, which is empty for others. It reports false if
// kube-controller-manager did, and which of its controllers is not known.
func (t *tracedWrites) addAudited(e *trace.Event, d *trace.Request, by *effect) bool {
	by.controller = t.auditedController(e.Controller, d)
	if d.Failed() {
		by.key = refusedKey(by.controller, d)
	}
	if of := resourceOf(&d.Object); d.ResourceVersion != "" {
		if t.audited[of] == nil {
			t.audited[of] = &span{}
		}
		t.audited[of].add(e.Time)
	}
	return by.controller != "" || d.User != managerUser
}

// auditedController returns the short name of the controller of kube-controller-manager with the credentials of that
// name; empty if it is none. Of those that share credentials each makes other writes.
func (t *tracedWrites) auditedController(credentials string, d *trace.Request) string {
	found := t.byCredentials[credentials]
	if len(found) == 0 {
		return ""
	}
	want := ""
	switch of := (schema.GroupResource{Group: d.Group, Resource: d.Resource}); {
	case of.Resource == "certificatesigningrequests" && d.Subresource == "approval":
		want = "csrapproving"
	case of.Resource == "certificatesigningrequests" && d.Subresource == "status":
		want = "csrsigning"
	case of.Resource == "certificatesigningrequests":
		want = "csrcleaner"
	case of == core("pods") && d.Verb != "update": // deletions, and conditions that say why
		want = "taint-eviction"
	}
	return found[max(slices.Index(found, want), 0)]
}

// byCredentials returns the short names of the controllers by the names of their credentials.
func byCredentials() map[string][]string {
	out := map[string][]string{}
	for _, c := range controllers.All() {
		if c.Runs() {
			out[c.Credentials()] = append(out[c.Credentials()], c.Short)
		}
	}
	return out
}

// isAddressOfNode reports whether a change gives a node its addresses for pods, as the controller of addresses does,
// which does not run here. It has the credentials of node-lifecycle.
func isAddressOfNode(c *change) bool {
	return c.resource == core("nodes") && slices.ContainsFunc(c.paths(), func(path string) bool {
		return strings.HasPrefix(path, "spec.podCIDR")
	})
}

// keyOf returns the key of a controller's queue that a change which it made belongs to; empty if it is not known. If
// the owner is gone, the controller has found the object in another way.
func keyOf(controller string, state known, c *change) string {
	for _, r := range rulesOf(controller) {
		if !r.matches(c) {
			continue
		}
		kind, _ := keyKind(controller)
		if r.owner != "" && state.find(kind.GroupResource(), c.namespace, c.owner(r.owner)) == nil {
			return ""
		}
		return r.key(c)
	}
	return ""
}

// refusedKey returns the key of a controller's queue that a refused write belongs to; empty if it is not known.
func refusedKey(controller string, d *trace.Request) string {
	for _, r := range rulesOf(controller) {
		switch {
		case r.resource != resourceOf(&d.Object) || !slices.Contains(r.verbs, requestVerb(d)) || r.anyKey:
		case r.namespaceKey:
			return d.Namespace
		case r.owner == "":
			return joinKey(d.Namespace, d.Name)
		case d.Owner != "":
			return joinKey(d.Namespace, d.Owner)
		}
	}
	return ""
}
