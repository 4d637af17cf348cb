package moment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// mostNotable bounds the moments that are offered besides the start and the end: the last ones.
const mostNotable = 12

// notable is a moment that a user may want to look at.
type notable struct {
	at   time.Time
	text string
}

// Moments implements complete.Recording: the start and the end, and between them gaps, the first Warning about each
// object, and what was created, deleted or got another spec, unless it has an owner or no spec. Without times there are
// only the start and the end.
func (s *Source) Moments(ctx context.Context) []string {
	opened, info, err := s.open(ctx)
	if err != nil || info.Records == 0 {
		return nil
	}
	out := []string{"start\tthe first lists are complete"}
	var found []notable
	if !info.First.IsZero() {
		found = gapsOf(info)
		if info.Records <= mostScanned {
			finder := newFinder()
			err = each(ctx, opened, finder.add)
			found = append(found, finder.found...)
		}
	}
	if closeAfter(opened, err) != nil {
		return nil
	}
	slices.SortStableFunc(found, func(a, b notable) int { return a.at.Compare(b.at) })
	for _, n := range found[max(0, len(found)-mostNotable):] {
		out = append(out, sinceStart(n.at, info)+"\t"+n.at.UTC().Format(time.TimeOnly)+" "+cli.OneLine(n.text))
	}
	end := "the last record"
	if !info.Last.IsZero() {
		end = fmt.Sprintf("%s, %s after the beginning", formatTime(info.Last), sinceText(info.Last.Sub(info.First)))
	}
	return append(out, "end\t"+end)
}

// sinceStart writes a time of a recording as one after its beginning, up to the next millisecond if the recording goes
// on until then.
func sinceStart(at time.Time, info *replay.Info) string {
	d := at.Sub(info.First)
	if up := (d + time.Millisecond - 1).Truncate(time.Millisecond); !info.First.Add(up).After(info.Last) {
		d = up
	}
	return "+" + d.String()
}

// gapsOf returns the moments before and after the gaps. That a gap is of several streams makes no difference.
func gapsOf(info *replay.Info) []notable {
	var out []notable
	for i := range info.Gaps {
		end, gap := info.Gaps[i].Time, info.Gaps[i].Gap
		if gap == nil {
			continue
		}
		lost := "nothing was received"
		if gap.Complete {
			lost = "nothing was lost"
		}
		length := sinceText(end.Sub(gap.Since))
		if !gap.Since.Before(info.First) {
			out = append(out, notable{gap.Since, "before a gap of " + length})
		}
		out = append(out, notable{end, fmt.Sprintf("after a gap of %s: %s", length, lost)})
	}
	slices.SortStableFunc(out, func(a, b notable) int { return a.at.Compare(b.at) })
	return slices.CompactFunc(out, func(a, b notable) bool { return a.at.Equal(b.at) })
}

// finder finds notable moments among records.
type finder struct {
	streams map[int]*replay.Stream
	// generations are those of objects without an owner, as text.
	generations map[replay.Key]string
	warned      map[string]bool
	found       []notable
}

func newFinder() *finder {
	return &finder{
		streams: map[int]*replay.Stream{}, generations: map[replay.Key]string{}, warned: map[string]bool{},
	}
}

// add looks at a record.
func (f *finder) add(r *replay.Record) {
	stream := f.streams[r.Stream]
	switch {
	case r.Type == replay.TypeStream && r.NewStream != nil:
		f.streams[r.Stream] = r.NewStream
	case stream == nil || !r.Type.HasObject():
	case stream.Kind == "Event":
		f.addEvent(r)
	case slices.Contains(unremarkable, stream.Kind) || bytes.Contains(r.Object, []byte(`"ownerReferences":`)):
	default:
		f.addObject(r, strings.ToLower(stream.Kind)+"/"+r.Name)
	}
}

// unremarkable are kinds whose objects change by themselves.
var unremarkable = []string{"Endpoints", "EndpointSlice", "Lease", "Node"}

// addEvent looks at an Event: only at Warnings, which are decoded.
func (f *finder) addEvent(r *replay.Record) {
	if r.Type != replay.TypeAdded && r.Type != replay.TypeModified || !bytes.Contains(r.Object, []byte(`"Warning"`)) {
		return
	}
	type reference struct{ Kind, Name string }
	var event struct {
		Type, Reason   string
		InvolvedObject reference
		Regarding      reference
	}
	if json.Unmarshal(r.Object, &event) != nil || event.Type != "Warning" {
		return
	}
	about := event.InvolvedObject
	if about.Kind == "" {
		about = event.Regarding
	}
	text := fmt.Sprintf("Warning %s: %s/%s", event.Reason, strings.ToLower(about.Kind), about.Name)
	if !f.warned[text] {
		f.warned[text] = true
		f.found = append(f.found, notable{r.Time, text})
	}
}

// addObject looks at a record of an object without an owner.
func (f *finder) addObject(r *replay.Record, name string) {
	generation := generationIn(r.Object)
	before, known := f.generations[r.Key()]
	if generation == "" {
		return // it has no spec
	}
	f.generations[r.Key()] = generation
	var what string
	switch {
	case r.Type == replay.TypeAdded && !known:
		what = "created"
	case r.Type == replay.TypeDeleted:
		what = "deleted"
		delete(f.generations, r.Key())
	case known && generation != before:
		what = "generation " + generation
	default:
		return
	}
	f.found = append(f.found, notable{r.Time, name + ": " + what})
}

// generationIn returns metadata.generation in the JSON of an object without decoding it: it is the first field of that
// name, as metadata comes before spec and status.
func generationIn(object []byte) string {
	_, rest, ok := bytes.Cut(object, []byte(`"generation":`))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest, " ")
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	return string(rest[:digits])
}
