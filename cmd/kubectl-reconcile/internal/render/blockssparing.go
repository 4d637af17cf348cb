package render

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Spared counts what was left out up to Normal: with BlocksOptions.Sparing, but for errors.
type Spared struct {
	// Idle counts the reconciles that wrote nothing and went well.
	Idle int
	// Repeated counts those, and the writes outside of any reconcile, that came to the very same dry writes as the last of
	// their key did; outside of any reconcile, also those that were refused as before, and errors that were logged as before.
	Repeated int
}

// Spared tells what was left out so far. It may be called at any time.
func (b *Blocks) Spared() Spared {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spared
}

// spares says whether a reconcile that ends is left out, and counts it. b.mu must be held.
func (b *Blocks) spares(open *block, e *trace.Event, end *trace.End) bool {
	if !b.o.Sparing || b.o.Detail >= Verbose || end.Outcome != trace.Done {
		return false
	}
	writes := dryWrites(open.events)
	switch {
	case len(writes) > 0 && b.repeats(e.Controller+"\x00"+e.Key, writes):
		b.spared.Repeated++
		return true
	case end.Writes == 0:
		b.spared.Idle++
		return true
	}
	return false
}

// sparesLone is spares for a write that belongs to no reconcile.
func (b *Blocks) sparesLone(e *trace.Event, r *trace.Request) bool {
	if !b.o.Sparing || b.o.Detail >= Verbose || !r.DryRun {
		return false
	}
	what := strings.Join([]string{e.Controller, "", r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, stem(r)}, "\x00")
	if !b.repeats(what, []*trace.Request{r}) {
		return false
	}
	b.spared.Repeated++
	return true
}

// dryWrites are the writes among the events, if all of them are dry ones.
func dryWrites(events []*trace.Event) []*trace.Request {
	var out []*trace.Request
	for _, e := range events {
		r, ok := e.Detail.(*trace.Request)
		switch {
		case !ok || !r.IsWrite():
		case !r.DryRun:
			return nil
		default:
			out = append(out, r)
		}
	}
	return out
}

// repeats says whether the writes are those that were seen last of what has that name, and remembers them.
func (b *Blocks) repeats(name string, writes []*trace.Request) bool {
	hash := fingerprint(writes, "")
	before, known := b.seen[name]
	b.seen[name] = hash
	return known && before == hash
}

// fingerprint is a hash of writes, whatever their order, their answers and why they were made in vain; what differs each time
// left out.
func fingerprint(writes []*trace.Request, why string) uint64 {
	lines := []string{why}
	for _, r := range writes {
		lines = append(lines, fmt.Sprint(r.Verb, " ", r.Group, "/", r.Resource, "/", r.Subresource, " ", r.Namespace, "/", stem(r), " ",
			r.Code, " ", r.Message, " ", Changes(r.Change.Fields(), 0)))
	}
	for i, line := range lines {
		lines[i] = passing.ReplaceAllString(line, "")
	}
	slices.Sort(lines)
	hash := fnv.New64a()
	for _, line := range lines {
		fmt.Fprintln(hash, line)
	}
	return hash.Sum64()
}

// stem is the name of an object; of one that is created, without its end: it is another each time where a server makes it.
func stem(r *trace.Request) string {
	if i := strings.LastIndexByte(r.Name, '-'); r.Verb == "create" && i > 0 {
		return r.Name[:i]
	}
	return r.Name
}
