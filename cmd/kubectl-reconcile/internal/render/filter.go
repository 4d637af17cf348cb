package render

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// NotShown counts what has no block, up to Normal.
type NotShown struct {
	// Idle counts the reconciles that wrote nothing and went well.
	Idle int
	// PutOff counts those that wrote nothing because a cache did not show yet what their controller had written.
	PutOff int
	// Conflicts counts those that came to nothing but a conflict, as the one before of their key did, which has a line.
	Conflicts int
	// Repeated counts those, and the writes outside of any reconcile, that came to the very same dry writes as the last
	// of their key did; outside of any reconcile, also those that were refused as before, and errors that were logged
	// as before.
	Repeated int
}

// NotShown returns what was left out so far. It may be called at any time.
func (b *Blocks) NotShown() NotShown {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notShown
}

// omits reports whether a reconcile that ends has no block, and counts it. b.mu must be held.
func (b *Blocks) omits(open *block, e *trace.Event, end *trace.End) bool {
	idle := end.Writes+end.Refused == 0
	writes := dryWrites(open.events)
	switch {
	case idle && end.PutOff != "":
		b.notShown.PutOff++
		b.rememberCauses(e.Reconcile, open.why)
	case !hasAcceptedWrite(open.events) && conflictOf(open.events, end) != nil && end.Next.Retry > 1:
		b.notShown.Conflicts++
		b.rememberCauses(e.Reconcile, open.why)
	case end.Outcome != trace.Done:
		return false
	case len(writes) > 0 && b.repeatsDryWrites(e.Controller+"\x00"+e.Key, writes):
		b.notShown.Repeated++
	case idle && !slices.ContainsFunc(open.events, isLoggedError):
		b.notShown.Idle++
	default:
		return false
	}
	return true
}

func isLoggedError(e *trace.Event) bool {
	l, ok := e.Detail.(*trace.Log)
	return ok && l.Error != ""
}

// repeatsUnattributedWrite reports whether a write that belongs to no reconcile came to the same before, and counts it.
func (b *Blocks) repeatsUnattributedWrite(e *trace.Event, r *trace.Request) bool {
	if !b.brief() || !r.DryRun {
		return false
	}
	of := []string{e.Controller, "", r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, stem(r)}
	if !b.repeatsDryWrites(strings.Join(of, "\x00"), []*trace.Request{r}) {
		return false
	}
	b.notShown.Repeated++
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

// hasAcceptedWrite reports whether one of the events is a write that was taken, or would be.
func hasAcceptedWrite(events []*trace.Event) bool {
	return slices.ContainsFunc(events, func(e *trace.Event) bool {
		r, ok := e.Detail.(*trace.Request)
		return ok && r.IsWrite() && !r.Failed()
	})
}

// repeatsDryWrites reports whether the writes are those that were seen last of what has that name, and remembers them.
func (b *Blocks) repeatsDryWrites(name string, writes []*trace.Request) bool {
	hash := fingerprint(writes, "")
	before, known := b.lastDryWrites.get(name)
	b.lastDryWrites.put(name, hash)
	return known && before == hash
}

// repeatsFailure reports whether a reconcile that is about to be shown failed as the one of its key did that was shown
// last: for the same reason, after the same tries. One that kept a write did not. It remembers how the key failed. b.mu
// must be held.
func (b *Blocks) repeatsFailure(open *block, e *trace.Event, end *trace.End) bool {
	name := e.Controller + "\x00" + end.Queue + "\x00" + e.Key
	switch {
	case !b.brief() || end.PutOff != "" || conflictOf(open.events, end) != nil:
		return false // nothing is known to be right again, nor to go wrong still
	case end.Outcome != trace.Failed:
		b.lastFailures.delete(name)
		return false
	}
	tries, kept := ineffectiveWrites(open.events)
	hash := fingerprint(tries, end.Error)
	before, known := b.lastFailures.get(name)
	b.lastFailures.put(name, hash)
	return known && before == hash && !kept
}

// ineffectiveWrites are the writes among the events that came to nothing, and whether there were others.
func ineffectiveWrites(events []*trace.Event) (tries []*trace.Request, kept bool) {
	for _, e := range events {
		r, ok := e.Detail.(*trace.Request)
		switch {
		case !ok || !r.IsWrite():
		case r.DryRun || r.Failed():
			tries = append(tries, r)
		default:
			kept = true
		}
	}
	return tries, kept
}

// repeatedFailureLine is the one line of a reconcile that failed as before.
func (b *Blocks) repeatedFailureLine(open *block, end *trace.End) []line {
	head := b.head(open.start, b.latest).text
	return []line{{word: briefWord, text: head + "  " + b.o.Palette.Trouble("failed as before") + nextText(end.Next)}}
}

// persistentConflict is the retry after so many conflicts in a row, about five seconds of them, that they are shown like any
// failure.
const persistentConflict = 10

// conflictOf returns the write at which a reconcile failed because the object had changed since the controller read it:
// the next try reads it as it is, and mostly goes well. It is nil if the reconcile failed for another reason, or not,
// or again and again.
func conflictOf(events []*trace.Event, end *trace.End) *trace.Request {
	if end.Outcome != trace.Failed || end.Next == nil || end.Next.Retry >= persistentConflict {
		return nil
	}
	for _, e := range slices.Backward(events) {
		r, ok := e.Detail.(*trace.Request)
		if ok && r.Reason == "Conflict" && r.Message != "" && strings.Contains(end.Error, r.Message) {
			return r
		}
	}
	return nil
}

// conflictLine is the one line of a reconcile that came to nothing but a conflict, in brackets: it is no block.
func (b *Blocks) conflictLine(open *block, end *trace.End) []line {
	conflict := conflictText(conflictOf(open.events, end), end)
	text := fmt.Sprintf("(%s  %s  %s  %s  conflict: %s)",
		b.seconds(b.latest), open.start.Controller, keyText(open.start.Key), reconcileNumber(open.start.Reconcile), conflict)
	return []line{{word: briefWord, text: b.o.Palette.Dim(text)}}
}

// conflictText names the write that met a conflict, and when the key is tried again.
func conflictText(r *trace.Request, end *trace.End) string {
	return fmt.Sprintf("%s %s %s%s", r.Verb, kindOf(r), subresourceOf(Escape(r.Name), r), nextText(end.Next))
}

// loggedBefore reports whether an error outside of any reconcile was shown before, and counts it: the recorders of Events
// report each Event that is refused. b.mu must be held.
func (b *Blocks) loggedBefore(controller string, l *trace.Log) bool {
	if !b.brief() || l.Error == "" {
		return false
	}
	hash := fingerprint(nil, controller+"\x00"+l.Message+"\x00"+l.Error)
	_, known := b.loggedErrors.get(hash)
	b.loggedErrors.put(hash, struct{}{})
	if known {
		b.notShown.Repeated++
	}
	return known
}

// volatileParts are the parts of a text that differ each time although it says the same: the ends of names that a server
// makes (apimachinery's util/rand) and of those of Events (client-go's tools/record/util), and the port that a
// connection begins at.
var volatileParts = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b|\.[0-9a-f]{16}\b|:\d+->`)

// fingerprint is a hash of writes, whatever their order, their answers and why they were made in vain; what differs
// each time left out.
func fingerprint(writes []*trace.Request, why string) uint64 {
	lines := []string{why}
	for _, r := range writes {
		lines = append(lines, fmt.Sprint(
			r.Verb, " ", r.Group, "/", r.Resource, "/", r.Subresource, " ", r.Namespace, "/", stem(r), " ",
			r.Code, " ", r.Message, " ", Changes(r.Change.Fields(), ChangesOptions{All: true}),
		))
	}
	for i, line := range lines {
		lines[i] = volatileParts.ReplaceAllString(line, "")
	}
	slices.Sort(lines)
	hash := fnv.New64a()
	for _, line := range lines {
		fmt.Fprintln(hash, line)
	}
	return hash.Sum64()
}

// stem is the name of an object; of one that is created, without its end: it is another each time where a server makes
// it.
func stem(r *trace.Request) string {
	if i := strings.LastIndexByte(r.Name, '-'); r.Verb == "create" && i > 0 {
		return r.Name[:i]
	}
	return r.Name
}

// isHidden reports whether the event is of a controller that is not shown, and is none of the Events that are asked for.
func (b *Blocks) isHidden(e *trace.Event) bool {
	if !b.brief() || !slices.Contains(b.o.Aside, e.Controller) {
		return false
	}
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Recorded == nil
}

// showsLog reports whether a line is shown, in its block if it has one.
func (b *Blocks) showsLog(open *block, controller string, l *trace.Log) bool {
	if l.Level > b.o.Detail.LogLevel() {
		return false
	}
	if open == nil {
		return b.showsUnattributedLog(l) && !b.loggedBefore(controller, l)
	}
	return !b.isNoise(controller, l)
}

// isNoise reports whether a line is one of those that are shown only from Verbose on.
func (b *Blocks) isNoise(controller string, l *trace.Log) bool {
	return b.brief() && l.Error == "" && (isThrottling(l) || slices.Contains(b.o.Routine[controller], l.Message))
}

// isThrottling reports whether a line is client-go's about a request that had to wait for others (rest.Request): that
// is no decision of the controller.
func isThrottling(l *trace.Log) bool { return l.Message == "Waited before sending request" }

// showsUnattributedLog reports whether a line is shown that belongs to no reconcile. Mostly it is "starting" and "shutting down";
// errors of a start that is cut off come before the run has begun, and at its end those that say no more than that it
// has ended. What a controller tells of its machinery in detail would drown the reconciles.
func (b *Blocks) showsUnattributedLog(l *trace.Log) bool {
	if b.o.Detail >= Everything || b.o.Detail == Verbose && l.Level <= Normal.LogLevel() {
		return true
	}
	return l.Error != "" && !b.startAt.IsZero() && !strings.HasSuffix(l.Error, context.Canceled.Error())
}

// isFailedEventCount reports whether a repetition of an Event could not be counted only because a dry run kept none.
func isFailedEventCount(r *trace.Request) bool {
	return r.DryRun && r.Verb == "patch" && r.Code == http.StatusNotFound
}

// withoutRepeatedErrors leaves out the lines that only log the error that the end tells too.
func (b *Blocks) withoutRepeatedErrors(events []*trace.Event) []*trace.Event {
	if len(events) == 0 {
		return nil // cut off before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok || end.Error == "" || !b.brief() {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *trace.Event) bool {
		log, ok := e.Detail.(*trace.Log)
		return ok && (log.Error == end.Error || slices.ContainsFunc(log.Values, func(v trace.Value) bool { return v.Value == end.Error }))
	})
}

// recentMap remembers what was put latest: room entries at least once there were as many, and at most twice that.
type recentMap[K comparable, V any] struct {
	capacity   int
	young, old map[K]V
}

const (
	// maxRecent bounds the keys and reconciles that are remembered: a run may last for weeks.
	maxRecent = 1 << 14
	// maxPutOff bounds the reconciles that were put off: the causes of each are remembered.
	maxPutOff = 1 << 12
)

func (r *recentMap[K, V]) get(k K) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	return v, ok
}

func (r *recentMap[K, V]) put(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= r.capacity {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = map[K]V{}
	}
	r.young[k] = v
}

func (r *recentMap[K, V]) delete(k K) {
	delete(r.young, k)
	delete(r.old, k)
}

// len counts an entry twice that was put again.
func (r *recentMap[K, V]) len() int { return len(r.young) + len(r.old) }
