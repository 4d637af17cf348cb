package trace

import (
	"net/http"
	"sort"
	"sync"
	"time"
)

// ClientRequest is a request of a program outside of the session to the session's own API server, and its answer.
// Requests for no resource, such as those of discovery, are none. Events of this type have no Controller.
type ClientRequest struct {
	// Program is the name of the program by its user agent; "unknown" if it sends none.
	Program   string `json:"program"`
	UserAgent string `json:"userAgent,omitempty"`
	// FieldManager is the field manager that a write names; empty if it names none, and then it is Program.
	FieldManager string `json:"fieldManager,omitempty"`
	Request
}

// Type implements Detail.
func (*ClientRequest) Type() Type { return TypeClientRequest }

// ProgramSummary sums up the requests of one program outside of the session.
type ProgramSummary struct {
	Program string `json:"program"`
	// Gets, Lists and Watches count all requests of these verbs.
	Gets    int `json:"gets"`
	Lists   int `json:"lists"`
	Watches int `json:"watches"`
	// Writes counts the successful write requests, without dry runs, reviews, and those of API Events, which Events
	// counts.
	Writes int `json:"writes"`
	Events int `json:"events"`
	// Conflicts counts the writes that were refused because the object had changed. Refused counts all other requests
	// that failed, but for reads of what does not exist.
	Conflicts int `json:"conflicts"`
	Refused   int `json:"refused"`
	// P50 and P99 are of the times until an answer began, to within a thirty-second.
	P50 Duration `json:"p50"`
	P99 Duration `json:"p99"`
}

// maxPrograms bounds the programs that are counted each; what is from more is counted as from otherPrograms.
const (
	maxPrograms   = 100
	otherPrograms = "(others)"
)

// Programs is a Sink that sums up the requests of programs outside of the session. Its memory does not grow with the
// number of events. All its methods may be called concurrently.
type Programs struct {
	mu       sync.Mutex
	programs map[string]*programTally
}

type programTally struct {
	ProgramSummary
	latencies histogram
}

// NewPrograms returns a Programs without any.
func NewPrograms() *Programs { return &Programs{programs: map[string]*programTally{}} }

// Record implements Sink.
func (p *Programs) Record(e *Event) {
	r, ok := e.Detail.(*ClientRequest)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := r.Program
	if p.programs[name] == nil && len(p.programs) >= maxPrograms {
		name = otherPrograms
	}
	t := p.programs[name]
	if t == nil {
		t = &programTally{ProgramSummary: ProgramSummary{Program: name}}
		p.programs[name] = t
	}
	t.latencies.add(time.Duration(r.Latency))
	switch r.Verb {
	case "get":
		t.Gets++
	case "list":
		t.Lists++
	case "watch":
		t.Watches++
	}
	switch {
	case r.IsConflict():
		t.Conflicts++
	case r.Failed():
		if r.IsWrite() || r.Code != http.StatusNotFound {
			t.Refused++
		}
	case r.Recorded != nil:
		t.Events++
	case r.ChangesObjects() && !r.DryRun:
		t.Writes++
	}
}

// Programs returns a copy of the figures, sorted by name.
func (p *Programs) Programs() []ProgramSummary {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []ProgramSummary
	for _, t := range p.programs {
		s := t.ProgramSummary
		s.P50, s.P99 = Duration(t.latencies.quantile(0.5)), Duration(t.latencies.quantile(0.99))
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Program < out[j].Program })
	return out
}
