package input

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// merge returns one recording of several files, which must be of one cluster.
func merge(files []*opened) (replay.Recording, error) {
	if len(files) == 1 {
		if recording, ok := files[0].Source.(replay.Recording); ok {
			return recording, nil
		}
		return newBuffered(files[0].Source), nil
	}
	head, err := mergedHeader(files)
	if err != nil {
		return nil, err
	}
	m := &merged{head: head, streams: map[streamKey]*joined{}}
	for _, f := range files {
		m.parts = append(m.parts, &part{file: f, streams: map[int]*joined{}, lists: map[*joined]bool{}})
	}
	return newBuffered(m), nil
}

// mergedHeader returns the header of a recording of several files.
func mergedHeader(files []*opened) (replay.Header, error) {
	var out replay.Header
	owner := ""
	for i, f := range files {
		h := f.Header()
		switch {
		case h.Cluster == "":
		case out.Cluster == "":
			out.Cluster, owner = h.Cluster, f.name
		case out.Cluster != h.Cluster:
			return out, cli.WithHint(fmt.Errorf("%s and %s are recordings of different clusters: the uids of their "+
				"kube-system are %q and %q", named(owner), named(f.name), out.Cluster, h.Cluster),
				"objects of different clusters may have the same names: look at one cluster at a time")
		}
		if i == 0 {
			out.Version, out.Imported = h.Version, h.Imported
		}
		if out.Imported != h.Imported {
			out.Imported = ""
		}
		out.Tool, out.Server = cmp.Or(out.Tool, h.Tool), cmp.Or(out.Server, h.Server)
		out.Context = cmp.Or(out.Context, h.Context)
		out.Options = append(out.Options, h.Options...)
		if !h.Start.IsZero() && (out.Start.IsZero() || h.Start.Before(out.Start)) {
			out.Start = h.Start
		}
		out.Redacted = out.Redacted || h.Redacted
	}
	return out, nil
}

// merged is a Source of several files. Their records are in order of time, those without times before. Records without
// times are in the order of their resource versions, which are of one store, and so tell the order across kinds: each
// as if it had at least the version of those before it in its file.
type merged struct {
	head    replay.Header
	parts   []*part
	streams map[streamKey]*joined
	ready   []*replay.Record
	number  int
	last    time.Time
	count   int64
	end     error
	ended   *replay.Record
}

// part is a file that is merged.
type part struct {
	file    *opened
	next    *replay.Record
	version string // the newest version of the records up to next
	streams map[int]*joined
	lists   map[*joined]bool // of which streams a list was met
	done    bool
	last    time.Time // of the last record of a recording
	torn    *replay.TornError
}

// streamKey is what is the same for streams that become one.
type streamKey struct{ group, version, kind, namespace, labels, fields string }

var _ replay.Source = (*merged)(nil)

// Header implements replay.Source.
func (m *merged) Header() replay.Header { return m.head }

// Skipped returns what was skipped in all files.
func (m *merged) Skipped() []replay.Skipped {
	var out []replay.Skipped
	for _, p := range m.parts {
		if source, ok := p.file.Source.(skipper); ok {
			for _, s := range source.Skipped() {
				out = addSkipped(out, s)
			}
		}
	}
	return out
}

func addSkipped(all []replay.Skipped, s replay.Skipped) []replay.Skipped {
	for i := range all {
		if all[i].Reason == s.Reason {
			all[i].Count += s.Count
			return all
		}
	}
	return append(all, s)
}

// Next implements replay.Source. If one of the files is cut off, the others are read on, and the error comes last.
func (m *merged) Next() (*replay.Record, error) {
	for len(m.ready) == 0 {
		if m.end != nil {
			return nil, m.end
		}
		if err := m.advance(); err != nil {
			m.end = err
			if m.ended != nil && errors.Is(err, io.EOF) {
				m.emit(m.ended)
			}
		}
	}
	r := m.ready[0]
	m.ready = m.ready[1:]
	return r, nil
}

// advance adds the next record of all files.
func (m *merged) advance() error {
	var first *part
	for _, p := range m.parts {
		if err := m.fill(p); err != nil {
			return err
		}
		if p.next != nil && (first == nil || p.before(first)) {
			first = p
		}
	}
	if first == nil {
		return m.atEnd()
	}
	r := first.next
	first.next = nil
	if first.isRecording() {
		first.last = r.Time
	}
	if m.isUsed(first, r) {
		m.add(first, r)
	}
	return nil
}

// answerTime is how much later than its change the entry of a request may be in an audit log.
const answerTime = 2 * time.Second

// isUsed reports whether a record is used. Of an audit log beside a recording the requests are that were made while
// something was recorded: they say who wrote. Its objects are not: the recording has them whole, with the versions of
// deletions.
func (m *merged) isUsed(p *part, r *replay.Record) bool {
	if p.file.Header().Imported != replay.ImportedAudit || !slices.ContainsFunc(m.parts, (*part).isRecording) {
		return true
	}
	return r.Type == replay.TypeTrace && slices.ContainsFunc(m.parts, func(other *part) bool {
		return !other.last.IsZero() && (!other.done || r.Time.Sub(other.last) <= answerTime)
	})
}

func (p *part) isRecording() bool { return p.file.Header().Imported == "" }

// atEnd returns the error of the file that was cut off, or io.EOF.
func (m *merged) atEnd() error {
	for _, p := range m.parts {
		if p.torn != nil {
			torn := *p.torn
			torn.Records, torn.Last = m.count, m.last
			torn.Err = fmt.Errorf("%s: %w", named(p.file.name), torn.Err)
			return &torn
		}
	}
	return io.EOF
}

// fill reads the next record of a file.
func (m *merged) fill(p *part) error {
	if p.next != nil || p.done {
		return nil
	}
	r, err := p.file.Next()
	switch {
	case errors.Is(err, io.EOF), errors.As(err, &p.torn):
		p.done = true
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", named(p.file.name), err)
	}
	if r.Type != replay.TypeListEnd && snapshot.IsNewer(r.ResourceVersion, p.version) {
		p.version = r.ResourceVersion
	}
	p.next = r
	return nil
}

// before reports whether the next record of p comes before that of other, which is of a file before.
func (p *part) before(other *part) bool {
	a, b := p.next, other.next
	if !a.Time.Equal(b.Time) {
		return a.Time.Before(b.Time)
	}
	return a.Time.IsZero() && snapshot.IsNewer(other.version, p.version)
}

// add adds a record of a file.
func (m *merged) add(p *part, r *replay.Record) {
	if r.Type == replay.TypeStream {
		m.define(p, r)
		return
	}
	if r.Type == replay.TypeEnd {
		m.ended = r.Clone() // the recording ends with the last file
		return
	}
	if r.Stream == 0 {
		if r.Type == replay.TypeGap { // of this file only
			for number := range len(p.streams) + 1 {
				if j := p.streams[number]; j != nil {
					m.emit(onStream(r, j.stream.Number))
				}
			}
			return
		}
		m.emit(r.Clone())
		return
	}
	if j := p.streams[r.Stream]; j != nil {
		j.add(m, p, onStream(r, j.stream.Number))
	}
}

// onStream returns a copy of a record that belongs to another stream.
func onStream(r *replay.Record, stream int) *replay.Record {
	out := r.Clone()
	out.Stream = stream
	return out
}

// define adds a stream of a file, or joins it with that of another file.
func (m *merged) define(p *part, r *replay.Record) {
	s := *r.NewStream
	key := streamKey{s.Group, s.Version, s.Kind, s.Namespace, s.Labels, s.Fields}
	j := m.streams[key]
	if j == nil {
		m.number++
		s.Number = m.number
		j = &joined{stream: s, known: map[replay.Key]*replay.Record{}, gone: map[replay.Key]string{}}
		m.streams[key] = j
		out := onStream(r, s.Number)
		out.NewStream = &s
		m.emit(out)
	}
	p.streams[r.Stream] = j
}

// emit adds a record to those that Next returns.
func (m *merged) emit(r *replay.Record) {
	m.count++
	if r.Time.After(m.last) {
		m.last = r.Time
	} else if !r.Time.IsZero() {
		r.Time = m.last
	}
	m.ready = append(m.ready, r)
}
