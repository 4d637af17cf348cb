package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// programWrites finds the writes of a program in a recording.
type programWrites struct {
	program Program
	loaded  *recorded
	count   int            // those that are its own for sure
	others  map[string]int // the writes of others, by who wrote
}

func newProgramWrites(p Program, l *recorded) *programWrites {
	return &programWrites{program: p, loaded: l, others: map[string]int{}}
}

// who is an attributor. It changes the end of a deletion that has begun to the removal of finalizers that brings it
// about.
func (p *programWrites) who(state known, ev *event, c *change) (verdict, effect) {
	made := effect{controller: p.program.Name, key: primaryKey(ev, c.newest())}
	if user := ev.record.Writer; user != "" {
		return p.byUser(user, c, made)
	}
	if write := p.loaded.writes.write(ev); write != nil && p.isUser(write.user) {
		p.count++
		return isEffect, made
	}
	switch c.verb {
	case "":
		return p.byFinalizers(c, made)
	case VerbDelete:
		made.possible = !p.deletes(state, ev, c)
		if p.hasFields(c.before) {
			return isEffect, made
		}
		return isInput, effect{}
	case VerbCreate, VerbUpdate, VerbUpdateStatus:
	}
	switch ours, others := c.managers(p.isOurs); {
	case ours, p.removes(c):
		p.count++
		return isEffect, made
	case others:
		p.noteOthers(c)
		return isInput, effect{}
	}
	made.possible = true // only fields were removed
	if p.hasFields(c.before) {
		return isEffect, made
	}
	return isInput, effect{}
}

// byUser decides by the user of an audit log.
func (p *programWrites) byUser(user string, c *change, made effect) (verdict, effect) {
	if !p.isUser(user) {
		p.others[user]++
		return isInput, effect{}
	}
	if c.verb == "" && !endByFinalizers(c) {
		return isInput, effect{}
	}
	p.count++
	return isEffect, made
}

// isUser reports whether a user of an audit log is the program. A service account may be named without its namespace.
func (p *programWrites) isUser(user string) bool {
	short := user[strings.LastIndex(user, ":")+1:]
	return user != "" && (slices.Contains(p.program.Writers, user) || slices.Contains(p.program.Writers, short))
}

// byFinalizers decides about the end of a deletion: it may have come when the program removed its finalizer.
func (p *programWrites) byFinalizers(c *change, made effect) (verdict, effect) {
	if !endByFinalizers(c) || !p.hasFields(c.after) {
		return isInput, effect{}
	}
	made.possible = !slices.ContainsFunc(c.before.List("metadata", "finalizers"), func(name any) bool {
		return p.setFinalizer(c.before, name)
	})
	return isEffect, made
}

// removes reports whether a change removes what the program has set, and nobody else: then nothing but managedFields
// before it names the writer.
func (p *programWrites) removes(c *change) bool {
	left := c.after.List("metadata", "finalizers")
	for _, name := range c.before.List("metadata", "finalizers") {
		if !slices.Contains(left, name) && p.setFinalizer(c.before, name) {
			return true
		}
	}
	removed := 0
	for _, one := range c.changes() {
		path, err := fields.ParsePath(one.Path)
		if err != nil || one.New != nil {
			return false
		}
		value, err := fields.Owners(object(c.before), path)
		isOther := func(owner fields.FieldOwner) bool { return !p.isOurs(owner.Writer) }
		if err != nil || len(value.Owners) == 0 || slices.ContainsFunc(value.Owners, isOther) {
			return false
		}
		removed++
	}
	return removed > 0
}

// setFinalizer reports whether the program has set a finalizer, and nobody else.
func (p *programWrites) setFinalizer(obj untyped.Map, name any) bool {
	ours, others := false, false
	for _, entry := range obj.Maps("metadata", "managedFields") {
		if entry.At("fieldsV1", "f:metadata", "f:finalizers", fmt.Sprintf("v:%q", name)) == nil {
			continue
		}
		if slices.Contains(p.program.Writers, entry.Text("manager")) {
			ours = true
		} else {
			others = true
		}
	}
	return ours && !others
}

// deletes reports whether a deletion, which names nobody, is one of the program: it has made the object, does not make
// it again, and nothing is known that deletes it by itself. Pods and Jobs are deleted by many.
func (p *programWrites) deletes(state known, ev *event, c *change) bool {
	made := len(c.before.Maps("metadata", "managedFields")) > 0
	for _, entry := range c.before.Maps("metadata", "managedFields") {
		made = made && (entry.Text("subresource") != "" || slices.Contains(p.program.Writers, entry.Text("manager")))
	}
	if !made || !p.hasFields(c.before) || c.resource == core("pods") || c.resource == batch("jobs") ||
		isDeleting(state.find(core("namespaces"), "", c.namespace)) {
		return false
	}
	for _, owner := range c.before.Maps("metadata", "ownerReferences") {
		if found := p.owner(state, c.namespace, owner); found == nil || isDeleting(found) {
			return false // the garbage collector deletes it
		}
	}
	return !slices.ContainsFunc(p.loaded.events[ev.position+1:], func(later *event) bool {
		return later.objectID() == ev.objectID() && later.record.Type == replay.TypeAdded
	})
}

// owner returns what an owner reference names, as it is at the moment; nil if it is not there, or was not recorded.
func (p *programWrites) owner(state known, namespace string, owner untyped.Map) untyped.Map {
	for _, stream := range p.loaded.streams {
		if stream.Kind != owner.Text("kind") || stream.GVK().GroupVersion().String() != owner.Text("apiVersion") {
			continue
		}
		in := namespace
		if !stream.Namespaced {
			in = ""
		}
		found := state.find(stream.GroupResource(), in, owner.Text("name"))
		if found.Text("metadata", "uid") == owner.Text("uid") {
			return found
		}
	}
	return nil
}

// endByFinalizers turns the end of an object that was being deleted, and had finalizers, into the update that removed
// them. It reports whether the change was one.
func endByFinalizers(c *change) bool {
	if c.verb != "" || c.after != nil || c.before == nil || len(c.before.List("metadata", "finalizers")) == 0 {
		return false
	}
	c.verb, c.after = VerbUpdate, withoutFinalizers(c.before)
	return true
}

func withoutFinalizers(obj untyped.Map) untyped.Map {
	out := maps.Clone(obj)
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "finalizers")
	out["metadata"] = metadata
	return out
}

func (p *programWrites) isOurs(w fields.Writer) bool {
	return slices.Contains(p.program.Writers, w.Manager)
}

// hasFields reports whether the program has written fields of an object.
func (p *programWrites) hasFields(obj untyped.Map) bool {
	return slices.ContainsFunc(obj.Maps("metadata", "managedFields"), func(entry untyped.Map) bool {
		return slices.Contains(p.program.Writers, entry.Text("manager"))
	})
}

// noteOthers counts a write of others.
func (p *programWrites) noteOthers(c *change) {
	names := map[string]bool{}
	c.managers(func(w fields.Writer) bool { names[w.Manager] = true; return false })
	for name := range names {
		p.others[name]++
	}
}

// none returns the error of a recording without writes of the program.
func (p *programWrites) none() error {
	err := &NoWritesError{Writers: p.program.Writers}
	for _, name := range slices.Sorted(maps.Keys(p.others)) {
		err.Others = append(err.Others, WriterCount{name, p.others[name]})
	}
	slices.SortStableFunc(err.Others, func(a, b WriterCount) int { return cmp.Compare(b.Writes, a.Writes) })
	return err
}

// primaryKey is the key that the writes of an object belong to: its controller owner, or itself.
func primaryKey(ev *event, obj untyped.Map) string {
	return programKeys(ev, obj)[0]
}

// programKeys returns the keys that an object belongs to: that of its controller owner comes first.
func programKeys(ev *event, obj untyped.Map) []string {
	own := keyName(ev.stream.Kind, ev.record.Namespace, ev.record.Name)
	if owner := controllerOwner(obj); owner != nil {
		return []string{keyName(owner.Text("kind"), ev.record.Namespace, owner.Text("name")), own}
	}
	return []string{own}
}

// keyName is the key of an object.
func keyName(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}
