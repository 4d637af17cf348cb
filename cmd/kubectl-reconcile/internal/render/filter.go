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

// NotShown counts what Blocks leaves out up to Normal.
type NotShown struct {
	// Idle counts the reconciles that wrote nothing and went well.
	Idle int
	// PutOff counts those that wrote nothing because an informer cache did not show yet what their controller had
	// written.
	PutOff int
	// Conflicts counts those that accepted no write and ended in a conflict, as the last of their key did, which has
	// a line.
	Conflicts int
	// Repeated counts those whose dry writes were the same as in the last reconcile of their key; and, outside of any
	// reconcile, repeated dry writes, whether accepted or refused, and repeated errors.
	Repeated int
}

// NotShown returns the counts of what was left out so far. It may be called at any time, also after Close.
func (b *Blocks) NotShown() NotShown {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notShown
}

// omits reports whether a reconcile that has ended is left out, and if so counts it. b.mu must be held.
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

// repeatsUnattributedWrite reports whether a dry write that belongs to no reconcile is the same as the last one of that
// object, and if so counts it. b.mu must be held.
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

// dryWrites returns the writes among the events if all of them are dry-run writes, else nil.
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

// hasAcceptedWrite reports whether one of the events is a write that the server accepted, as a dry run or not.
func hasAcceptedWrite(events []*trace.Event) bool {
	return slices.ContainsFunc(events, func(e *trace.Event) bool {
		r, ok := e.Detail.(*trace.Request)
		return ok && r.IsWrite() && !r.Failed()
	})
}

// repeatsDryWrites reports whether the writes are the same as the last ones under that name, and remembers them. b.mu
// must be held.
func (b *Blocks) repeatsDryWrites(name string, writes []*trace.Request) bool {
	hash := fingerprint(writes, "")
	before, known := b.lastDryWrites.Get(name)
	b.lastDryWrites.Put(name, hash)
	return known && before == hash
}

// repeatsFailure reports whether a reconcile failed as the last one of its key that was shown did: with the same error
// after the same attempted writes, and without any write that took effect. It remembers the failure. b.mu must be held.
func (b *Blocks) repeatsFailure(open *block, e *trace.Event, end *trace.End) bool {
	name := e.Controller + "\x00" + end.Queue + "\x00" + e.Key
	switch {
	case !b.brief() || end.PutOff != "" || conflictOf(open.events, end) != nil:
		return false // such an end neither proves nor clears a failure
	case end.Outcome != trace.Failed:
		b.lastFailures.Delete(name)
		return false
	}
	attempts, effective := ineffectiveWrites(open.events)
	hash := fingerprint(attempts, end.Error)
	before, known := b.lastFailures.Get(name)
	b.lastFailures.Put(name, hash)
	return known && before == hash && !effective
}

// ineffectiveWrites returns the writes among the events that were dry or refused, and reports whether there were
// others.
func ineffectiveWrites(events []*trace.Event) (attempts []*trace.Request, effective bool) {
	for _, e := range events {
		r, ok := e.Detail.(*trace.Request)
		switch {
		case !ok || !r.IsWrite():
		case r.DryRun || r.Failed():
			attempts = append(attempts, r)
		default:
			effective = true
		}
	}
	return attempts, effective
}

// repeatedFailureLine returns the one line of a reconcile that failed as the one before it.
func (b *Blocks) repeatedFailureLine(open *block, end *trace.End) []line {
	head := b.head(open.start, b.latest).text
	return []line{{word: briefWord, text: head + "  " + b.o.Palette.Trouble("failed as before") + nextText(end.Next)}}
}

// conflictOf returns trace.End.ConflictOf for the events of a reconcile.
func conflictOf(events []*trace.Event, end *trace.End) *trace.Request {
	var requests []*trace.Request
	for _, e := range events {
		if r, ok := e.Detail.(*trace.Request); ok {
			requests = append(requests, r)
		}
	}
	return end.ConflictOf(requests)
}

// conflictLine returns the one line, in brackets, of a reconcile that accepted no write and ended in a conflict.
func (b *Blocks) conflictLine(open *block, end *trace.End) []line {
	conflict := conflictText(conflictOf(open.events, end), end)
	text := fmt.Sprintf("(%s  %s  %s  %s  conflict: %s)", b.seconds(b.latest), open.start.Controller,
		keyText(open.start.Key), reconcileNumber(open.start.Reconcile), conflict)
	return []line{{word: briefWord, text: b.o.Palette.Dim(text)}}
}

// conflictText names the write that met a conflict, and when the key is retried.
func conflictText(r *trace.Request, end *trace.End) string {
	return fmt.Sprintf("%s %s %s%s", r.Verb, kindOf(r), subresourceOf(Escape(r.Name), r), nextText(end.Next))
}

// loggedBefore reports whether an error that was logged outside of any reconcile was shown before, and if so counts it:
// event recorders, for one, log each Event that the server refuses. b.mu must be held.
func (b *Blocks) loggedBefore(controller string, l *trace.Log) bool {
	if !b.brief() || l.Error == "" {
		return false
	}
	hash := fingerprint(nil, controller+"\x00"+l.Message+"\x00"+l.Error)
	_, known := b.loggedErrors.Get(hash)
	b.loggedErrors.Put(hash, struct{}{})
	if known {
		b.notShown.Repeated++
	}
	return known
}

// volatileParts matches the parts of an error that differ from one occurrence to the next: the suffixes of generated
// names (apimachinery's util/rand) and of the names of Events (client-go's tools/record/util), and the source port of
// a connection.
var volatileParts = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b|\.[0-9a-f]{16}\b|:\d+->`)

// fingerprint returns a hash of writes, of the answers to them and of an error, without volatile parts. The order of
// the writes does not matter: controllers send some of them concurrently.
func fingerprint(writes []*trace.Request, err string) uint64 {
	lines := []string{err}
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

// stem returns the name of an object; of one that is created, without the part behind its last dash, which differs each
// time if the server generates it.
func stem(r *trace.Request) string {
	if i := strings.LastIndexByte(r.Name, '-'); r.Verb == "create" && i > 0 {
		return r.Name[:i]
	}
	return r.Name
}

// isHidden reports whether an event is left out because its controller is one of BlocksOptions.VerboseOnly. API
// Events that such a controller records are not.
func (b *Blocks) isHidden(e *trace.Event) bool {
	if !b.brief() || !slices.Contains(b.o.VerboseOnly, e.Controller) {
		return false
	}
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Recorded == nil
}

// showsLog reports whether a log line is shown, in its block if it has one. b.mu must be held.
func (b *Blocks) showsLog(open *block, controller string, l *trace.Log) bool {
	if l.Level > b.o.Detail.LogLevel() {
		return false
	}
	if open == nil {
		return b.showsUnattributedLog(l) && !b.loggedBefore(controller, l)
	}
	return !b.isNoise(controller, l)
}

// isNoise reports whether a log line reports no decision, and is left out for that.
func (b *Blocks) isNoise(controller string, l *trace.Log) bool {
	return b.brief() && l.Error == "" &&
		(isThrottling(l) || slices.Contains(b.o.NoisyLogMessages[controller], l.Message))
}

// isThrottling reports whether client-go logged that a request had to wait for its rate limiter (rest.Request): that
// is no decision of the controller.
func isThrottling(l *trace.Log) bool { return l.Message == "Waited before sending request" }

// showsUnattributedLog reports whether a log line that belongs to no reconcile is shown. Most say "starting" and
// "shutting down". Up to Normal only errors are shown, of those only what occurs after the start, and none that only
// report the context that was cancelled at the end of the run.
func (b *Blocks) showsUnattributedLog(l *trace.Log) bool {
	if b.o.Detail >= Everything || b.o.Detail == Verbose && l.Level <= Normal.LogLevel() {
		return true
	}
	return l.Error != "" && !b.startAt.IsZero() && !strings.HasSuffix(l.Error, context.Canceled.Error())
}

// isFailedEventCount reports whether a request is the patch that counts a repetition of an Event, and failed only
// because the dry run did not store the Event.
func isFailedEventCount(r *trace.Request) bool {
	return r.DryRun && r.Verb == "patch" && r.Code == http.StatusNotFound
}

// withoutRepeatedErrors leaves out log lines whose error is that of the end of the reconcile, which is shown there.
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
		return ok && (log.Error == end.Error ||
			slices.ContainsFunc(log.Values, func(v trace.Value) bool { return v.Value == end.Error }))
	})
}

const (
	// maxRecent bounds the keys and reconciles that Blocks remembers: a run may last for weeks.
	maxRecent = 1 << 14
	// maxPutOff bounds the reconciles without a block whose causes are remembered.
	maxPutOff = 1 << 12
)
