package render

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var traceFile = flag.String("trace", "", "tell the story of this trace, and compare it with the trace")

// TestStoryOfTrace: the story of a trace is true and complete. Every write and failure is told or counted, nothing is
// told before what led to it, and nothing that is not in the trace; and each act is a line that fits the terminal. The
// scenarios that are played beside a real control plane run it on their trace.
func TestStoryOfTrace(t *testing.T) {
	if *traceFile == "" {
		t.Skip("-trace names no trace")
	}
	file, err := os.Open(*traceFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := storyCheck{
		t: t, story: trace.NewStory(false), open: map[trace.ReconcileID][]*trace.Request{}, names: map[string]bool{},
	}
	events := trace.NewReader(file)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.story.Due(e.Time) {
			c.take()
		}
		c.count(e)
		c.story.Record(e)
	}
	c.take()
	c.compare()
}

// storyCheck compares a story with the trace that it tells.
type storyCheck struct {
	t     *testing.T
	story *trace.Story
	open  map[trace.ReconcileID][]*trace.Request // writes of reconciles that have not ended
	names map[string]bool                        // of objects in the trace, and its keys

	writes, told            int // requests that were refused included
	failures, toldFailures  int
	refused, acts, problems int
}

// compare compares the counts.
func (c *storyCheck) compare() {
	left := c.story.NotTold()
	if of := c.told + left.StatusWrites + left.Conflicts + left.Repeated; of != c.writes {
		c.t.Errorf("of %d writes, and requests that were refused, the story has %d: %d told, and %+v", c.writes, of, c.told, left)
	}
	if of := c.toldFailures + c.refused + left.Failed + left.Healed; of != c.failures {
		c.t.Errorf("of %d failures the story has %d: %d told, %d as a request, and %+v",
			c.failures, of, c.toldFailures, c.refused, left)
	}
	if c.acts == 0 {
		c.t.Error("nothing is told")
	}
	c.t.Logf("in %d lines: %d of %d writes, %d of %d failures, and %+v", c.acts, c.told, c.writes,
		c.toldFailures+c.refused, c.failures, left)
}

// mostProblems bounds what is printed.
const mostProblems = 20

func (c *storyCheck) problem(format string, args ...any) {
	if c.problems++; c.problems <= mostProblems {
		c.t.Errorf(format, args...)
	}
}

// count counts what an event has of what is to be told.
func (c *storyCheck) count(e *trace.Event) {
	c.names[e.Key] = true
	switch d := e.Detail.(type) {
	case *trace.Watch:
		c.name(d.Namespace, d.Name)
	case *trace.Request:
		c.name(d.Namespace, cmp.Or(d.Name, d.GenerateName))
		if d.IsWrite() && d.Recorded == nil {
			c.writes++
			c.open[e.Reconcile] = append(c.open[e.Reconcile], d)
		}
	case *trace.ClientRequest:
		c.name(d.Namespace, d.Name)
		if d.Failed() && d.Recorded == nil && (d.IsWrite() || d.Code != http.StatusNotFound) {
			c.writes++
		}
	case *trace.End:
		requests := c.open[e.Reconcile]
		delete(c.open, e.Reconcile)
		if d.Outcome == trace.Done || d.PutOff != "" || d.ConflictOf(requests) != nil {
			return
		}
		c.failures++
		if slices.ContainsFunc(requests, func(r *trace.Request) bool {
			return r.Failed() && r.Message != "" && !r.IsRace() && strings.Contains(d.Error, r.Message)
		}) {
			c.refused++
		}
	}
}

func (c *storyCheck) name(namespace, name string) { c.names[namespace+"/"+name] = true }

// take takes what is to be told so far, and renders it.
func (c *storyCheck) take() {
	steps := c.story.Take()
	if len(steps) == 0 {
		return
	}
	before := c.acts
	c.steps(steps, nil)
	var whole bytes.Buffer
	options := StoryOptions{StartAt: steps[0].First()}
	if err := Story(&whole, steps, options); err != nil {
		c.t.Fatal(err)
	}
	if n := strings.Count(whole.String(), "\n"); n != c.acts-before {
		c.problem("%d acts are told in %d lines:\n%s", c.acts-before, n, &whole)
	}
	for _, width := range []int{60, 80, 120, 200} {
		var out bytes.Buffer
		options.Width = width
		if err := Story(&out, steps, options); err != nil {
			c.t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if Cells(line) > width && strings.Contains(strings.TrimSpace(line), " ") { // a long word is not broken
				c.problem("at width %d a line has %d:\n%s", width, Cells(line), line)
			}
		}
		if unwrapped := strings.Join(strings.Fields(out.String()), " "); unwrapped != strings.Join(strings.Fields(whole.String()), " ") {
			c.problem("at width %d the text is another:\n%s", width, &out)
		}
	}
}

// steps checks steps against the trace.
func (c *storyCheck) steps(steps []*trace.Step, cause *trace.Step) {
	for _, s := range steps {
		who := cmp.Or(s.Controller, s.Manager)
		if cause != nil && cause.First().After(s.First()) {
			c.problem("%s begins before %s, which led to it", who, cmp.Or(cause.Controller, cause.Manager))
		}
		for _, act := range s.Acts {
			c.acts++
			switch act.Type {
			case trace.ActSeen:
			case trace.ActFailed:
				c.toldFailures += act.Count
			default:
				c.told += act.Count
			}
			if act.Last.Before(act.First) || act.Count < len(act.Objects) || len(act.Objects) == 0 {
				c.problem("%s: an act of %d objects, %d times, from %s to %s", who, len(act.Objects), act.Count, act.First, act.Last)
			}
			for _, o := range act.Objects {
				name := fmt.Sprint(o.Namespace, "/", o.Name)
				if act.Type == trace.ActFailed {
					name = o.Name
				}
				if !c.names[name] {
					c.problem("%s: %s of %q, which the trace does not have", who, act.Type, name)
				}
			}
		}
		c.steps(s.Steps, s)
	}
}
