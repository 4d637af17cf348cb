package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// programWrites finds the writes of a program in a recording.
type programWrites struct {
	program Program
	count   int            // those that are its own for sure
	others  map[string]int // the writes of others, by who wrote
}

func newProgramWrites(p Program) *programWrites {
	return &programWrites{program: p, others: map[string]int{}}
}

// who is an attributor. It changes the end of a deletion that has begun to the removal of finalizers that brings it
// about.
func (p *programWrites) who(state known, ev *event, c *change) (verdict, effect) {
	made := effect{controller: p.program.Name, key: primaryKey(ev, c.newest())}
	if user := ev.record.Writer; user != "" {
		return p.byUser(user, c, made)
	}
	switch c.verb {
	case "":
		return p.byFinalizers(c, made)
	case VerbDelete:
		made.possible = true
		if p.hasFields(c.before) {
			return isEffect, made
		}
		return isInput, effect{}
	case VerbCreate, VerbUpdate, VerbUpdateStatus:
	}
	switch ours, others := c.managers(p.isOurs); {
	case ours:
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
	short := user[strings.LastIndex(user, ":")+1:]
	if !slices.Contains(p.program.Writers, user) && !slices.Contains(p.program.Writers, short) {
		p.others[user]++
		return isInput, effect{}
	}
	if c.verb == "" && !endByFinalizers(c) {
		return isInput, effect{}
	}
	p.count++
	return isEffect, made
}

// byFinalizers decides about the end of a deletion: it may have come when the program removed its finalizer.
func (p *programWrites) byFinalizers(c *change, made effect) (verdict, effect) {
	if !endByFinalizers(c) || !p.hasFields(c.after) {
		return isInput, effect{}
	}
	made.possible = true
	return isEffect, made
}

// endByFinalizers turns the end of an object that was being deleted, and had finalizers, into the update that removed
// them. It reports whether the change was one.
func endByFinalizers(c *change) bool {
	if c.verb != "" || c.after != nil || c.before == nil || len(c.before.list("metadata", "finalizers")) == 0 {
		return false
	}
	c.verb, c.after = VerbUpdate, withoutFinalizers(c.before)
	return true
}

func withoutFinalizers(obj fields) fields {
	out := maps.Clone(obj)
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "finalizers")
	out["metadata"] = metadata
	return out
}

func (p *programWrites) isOurs(w inspect.Writer) bool {
	return slices.Contains(p.program.Writers, w.Manager)
}

// hasFields reports whether the program has written fields of an object.
func (p *programWrites) hasFields(obj fields) bool {
	for _, entry := range obj.maps("metadata", "managedFields") {
		if slices.Contains(p.program.Writers, entry.text("manager")) {
			return true
		}
	}
	return false
}

// noteOthers counts a write of others.
func (p *programWrites) noteOthers(c *change) {
	names := map[string]bool{}
	c.managers(func(w inspect.Writer) bool { names[w.Manager] = true; return false })
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
func primaryKey(ev *event, obj fields) string {
	return programKeys(ev, obj)[0]
}

// programKeys returns the keys that an object belongs to: that of its controller owner comes first.
func programKeys(ev *event, obj fields) []string {
	own := keyName(ev.stream.Kind, ev.record.Namespace, ev.record.Name)
	if owner := obj.controllerOwner(); owner != nil {
		return []string{keyName(owner.text("kind"), ev.record.Namespace, owner.text("name")), own}
	}
	return []string{own}
}

// keyName is the key of an object.
func keyName(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}
