package render

import (
	"regexp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// failsAgain says whether a reconcile that is about to be shown failed as the one of its key did that was shown last: for
// the same reason, after the same tries. One that kept a write did not. It remembers how the key failed. b.mu must be held.
func (b *Blocks) failsAgain(open *block, e *trace.Event, end *trace.End) bool {
	if b.o.Detail >= Verbose {
		return false
	}
	name := e.Controller + "\x00" + end.Queue + "\x00" + e.Key
	if end.Outcome != trace.Failed {
		delete(b.failed, name)
		return false
	}
	tries, kept := triesOf(open.events)
	hash := fingerprint(tries, end.Error)
	before, known := b.failed[name]
	b.failed[name] = hash
	return known && before == hash && !kept
}

// triesOf are the writes among the events that came to nothing, and whether there were others.
func triesOf(events []*trace.Event) (tries []*trace.Request, kept bool) {
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

// again is the one line of a reconcile that failed as before.
func (b *Blocks) again(open *block, end *trace.End) []line {
	head := b.head(open.start, b.latest).text
	return []line{{againWord, head + "  " + b.o.Palette.Trouble("failed as before") + next(end.Next)}}
}

// againWord marks the line of again; no other line has it.
const againWord = "again"

// mostSaid bounds the errors that are remembered.
const mostSaid = 1 << 12

// saidBefore says whether an error outside of any reconcile was shown before, and counts it: the recorders of Events report
// each Event that is refused. b.mu must be held.
func (b *Blocks) saidBefore(controller string, l *trace.Log) bool {
	if b.o.Detail >= Verbose || l.Error == "" {
		return false
	}
	hash := fingerprint(nil, controller+"\x00"+l.Message+"\x00"+l.Error)
	if b.said[hash] {
		b.spared.Repeated++
		return true
	}
	if len(b.said) == mostSaid {
		clear(b.said)
	}
	b.said[hash] = true
	return false
}

// passing are the parts of a text that differ each time although it says the same: the ends of names that a server makes
// (apimachinery's util/rand) and of those of Events (client-go's tools/record/util), and the port that a connection begins at.
var passing = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b|\.[0-9a-f]{16}\b|:\d+->`)
