package compare

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// change is one recorded event: an object before and after it.
type change struct {
	resource        schema.GroupResource
	namespace, name string
	verb            Verb        // empty if the event shows no write, such as the end of a deletion that had begun
	before, after   untyped.Map // nil if there is none
	mask            fields.Mask

	changed []fields.Change // set by changes
	known   bool            // changed is set
}

// newChange finds out what an event did to an object of the mask's resource. Either of before and after may be nil.
func newChange(mask fields.Mask, namespace, name string, before, after untyped.Map) *change {
	c := &change{
		resource: mask.Resource, namespace: namespace, name: name, before: before, after: after, mask: mask,
	}
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.verb = VerbCreate
	case after == nil:
		if !isDeleting(before) {
			c.verb = VerbDelete
		}
	case !isDeleting(before) && isDeleting(after):
		c.verb = VerbDelete
	case c.onlyStatus():
		c.verb = VerbUpdateStatus
	case len(c.changes()) > 0:
		c.verb = VerbUpdate
	}
	return c
}

// changes returns what differs between before and after, without metadata that the API sets. Values that must not be
// shown are hidden.
func (c *change) changes() []fields.Change {
	if c.known {
		return c.changed
	}
	c.known = true
	all, err := fields.Changes(object(c.before), object(c.after), c.mask)
	if err != nil {
		return nil
	}
	c.changed = slices.DeleteFunc(all, func(one fields.Change) bool { return one.Path == "metadata.generation" })
	return c.changed
}

func object(f untyped.Map) *unstructured.Unstructured {
	if f == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: f}
}

func (c *change) paths() []string {
	out := make([]string, len(c.changes()))
	for i, one := range c.changes() {
		out[i] = one.Path
	}
	return out
}

func (c *change) onlyStatus() bool {
	changes := c.changes()
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(one fields.Change) bool {
		return one.Path != "status" && !strings.HasPrefix(one.Path, "status.")
	})
}

// newest returns the object after the event, or what was deleted.
func (c *change) newest() untyped.Map {
	if c.after != nil {
		return c.after
	}
	return c.before
}

// written returns what the writer sent: the object, but of a creation without what admission added.
func (c *change) written() untyped.Map {
	if c.verb == VerbCreate {
		return requested(c.after)
	}
	return c.newest()
}

func (c *change) label(name string) string { return c.newest().Text("metadata", "labels", name) }

// owner returns the name of the controller owner of that kind, of before if the change removes it; "" if there is none.
func (c *change) owner(kind string) string {
	for _, version := range []untyped.Map{c.after, c.before} {
		if owner := controllerOwner(version); owner != nil && owner.Text("kind") == kind {
			return owner.Text("name")
		}
	}
	return ""
}

// known looks up objects as they were before the event: nil if there is none.
type known interface {
	find(resource schema.GroupResource, namespace, name string) untyped.Map
	// owned yields the objects of a resource in a namespace.
	list(resource schema.GroupResource, namespace string) []untyped.Map
}

// foreseeing is a known that can also tell what comes.
type foreseeing interface {
	// next returns an object as its next event shows it; nil if there is none.
	next(resource schema.GroupResource, namespace, name string) untyped.Map
}

// effect says which controller made a change, and for which key of its queue.
type effect struct {
	controller string
	// key is empty if it is not known.
	key string
	// possible means that another may have made the change, as nothing names the one who did: then the write is not
	// missing if the controller does not make it.
	possible bool
	// before is true if the reconcile was caused by a version of an object from before its first one in the recording:
	// a controller that sees that one may have nothing to do.
	before bool
	// isTraced is true if the recorded trace has the reconcile that made the change; then started, queue, reconcile and
	// causes are those of it.
	isTraced  bool
	started   time.Time
	queue     string
	reconcile trace.ReconcileID
	causes    []trace.Cause
}

// verdict is what attribute finds out.
type verdict int

const (
	isInput  verdict = iota
	isEffect         // of a controller that is compared
	isUnattributed
)

// attribute finds out who made a change by its kind, its fields, its owner and the field managers: for recordings that
// have no trace. The result is isUnattributed if one of the compared controllers may have made it, or somebody else.
func attribute(compared []string, state known, c *change) (verdict, effect) {
	if c.verb == "" {
		return isInput, effect{}
	}
	uncertain := false
	for _, controller := range compared {
		for _, r := range rulesOf(controller) {
			if !r.matches(c) {
				continue
			}
			switch writer := c.writer(r.scale); {
			case writer == otherWriter:
				continue
			case r.when != nil && !r.when(state, c), r.when == nil && writer == unknownWriter && c.verb == VerbDelete:
				uncertain = true
				continue
			}
			return isEffect, effect{controller: controller, key: r.key(c)}
		}
	}
	if uncertain {
		return isUnattributed, effect{}
	}
	return isInput, effect{}
}

// writer is who made a change, as far as managedFields tell.
type writer int

const (
	unknownWriter writer = iota
	managerWriter        // kube-controller-manager, whose controllers are one manager
	otherWriter
)

// writer returns who made the change. Deletions name no one, and managedFields may have been left out.
func (c *change) writer(scale bool) writer {
	if c.verb == VerbDelete || len(c.after.Maps("metadata", "managedFields")) == 0 {
		return unknownWriter
	}
	subresource := ""
	switch {
	case c.verb == VerbUpdateStatus:
		subresource = "status"
	case scale:
		subresource = "scale"
	}
	ours, others := c.managers(func(w fields.Writer) bool {
		return w.Manager == controllers.FieldManager && w.Subresource == subresource
	})
	switch {
	case ours:
		return managerWriter
	case others:
		return otherWriter
	}
	return unknownWriter // only fields were removed, or managedFields have none of them
}

// managers reports whether one of our managers has written a field that changed, and whether others have. For a
// creation any field counts.
func (c *change) managers(isOurs func(fields.Writer) bool) (ours, others bool) {
	if c.verb == VerbCreate {
		for _, m := range fields.ByManager(object(c.after)) {
			if isOurs(m.Writer) {
				ours = true
			} else {
				others = true
			}
		}
		return ours, others
	}
	for _, one := range c.changes() {
		path, err := fields.ParsePath(one.Path)
		if err != nil || one.New == nil {
			continue
		}
		value, err := fields.Owners(object(c.after), path)
		if err != nil {
			continue
		}
		for _, owner := range value.Owners {
			if isOurs(owner.Writer) {
				ours = true
			} else {
				others = true
			}
		}
	}
	return ours, others
}
