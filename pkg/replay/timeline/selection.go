package timeline

import (
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Selection is a source of the records of another one that a filter selects: for what writes recordings in other
// formats. It selects by objects, namespaces, kinds, trees and moments; Fields, Writers and Types are those of entries,
// and do not matter. Records that are about no object are all there, so that a State of the selection is complete.
type Selection struct {
	source       replay.Source
	filter       Filter
	since, until bound
	streams      map[int]*streamState
	ended        bool
}

var _ replay.Source = (*Selection)(nil)

// Select returns a Selection. Options.State is not used.
func Select(source replay.Source, o Options) *Selection {
	return &Selection{
		source: source, filter: o.Filter, since: bound{Moment: o.Since}, until: bound{Moment: o.Until},
		streams: map[int]*streamState{},
	}
}

// Header implements replay.Source.
func (s *Selection) Header() replay.Header { return s.source.Header() }

// Next implements replay.Source.
func (s *Selection) Next() (*replay.Record, error) {
	for !s.ended {
		r, err := s.source.Next()
		if err != nil {
			return nil, err
		}
		if s.ended = s.until.after(r); s.ended {
			break
		}
		since := s.since.at(r)
		if r.Type == replay.TypeStream && r.NewStream != nil {
			s.streams[r.Stream] = newStreamState(r.NewStream, &s.filter)
			return r, nil
		}
		stream := s.streams[r.Stream]
		if since && (!r.Type.HasObject() || stream != nil && s.filter.selectsRecord(r, stream)) {
			return r, nil
		}
	}
	return nil, io.EOF
}
