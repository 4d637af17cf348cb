package playback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// player reads records and applies them to the API. It is guarded by Server.mu.
type player struct {
	server    *Server
	recording replay.Recording
	pending   *replay.Record // read and not delivered; nil if there is none
	number    int64          // of the last record that was delivered or skipped
	// lists are the records of lists that are not complete, by stream.
	lists map[int][]*replay.Record
}

func newPlayer(s *Server, recording replay.Recording) player {
	return player{server: s, recording: recording, lists: map[int][]*replay.Record{}}
}

// Next returns the next record of the recording, for a caller that decides itself what becomes of it: it may pass it,
// or another one in its place, to Deliver, or leave it out. The record stays valid. The error is io.EOF after the last
// record, or a *replay.TornError. Next is for a server that is paused and stays so.
func (s *Server) Next() (*replay.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.player.peek()
	if err != nil {
		return nil, err
	}
	s.pass(r)
	return r, nil
}

// Deliver makes clients see a record: a watch event, the item of a list, or the version of a list or a bookmark.
// Records of other types change nothing. The items of a list, and what a later one has found, are delivered with the
// end of the list, in the order of their versions. The error of an object that the API cannot decode leaves everything
// as it is.
func (s *Server) Deliver(ctx context.Context, r *replay.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.player.deliver(ctx, r)
}

// peek returns the next record without passing it.
func (p *player) peek() (*replay.Record, error) {
	if p.pending != nil {
		return p.pending, nil
	}
	r, err := p.recording.Next()
	if err != nil {
		return nil, err
	}
	p.pending = r.Clone()
	return p.pending, nil
}

// deliver applies a record to the API.
func (p *player) deliver(ctx context.Context, r *replay.Record) error {
	one := p.server.kinds.byStream[r.Stream]
	if one == nil || !one.served || one.own {
		return nil
	}
	switch {
	case r.Type == replay.TypeListEnd:
		err := p.deliverList(ctx, one, r.Stream)
		p.server.api.Progress(one.resource.GroupResource(), r.ResourceVersion)
		return err
	case r.Type == replay.TypeBookmark:
		p.server.api.Progress(one.resource.GroupResource(), r.ResourceVersion)
		return nil
	case !r.Type.HasObject():
		return nil
	case r.Relisted || r.Type == replay.TypeListItem:
		p.lists[r.Stream] = append(p.lists[r.Stream], r)
		return nil
	}
	// A list without an end is that of a recorder that was interrupted.
	return errors.Join(p.deliverList(ctx, one, r.Stream), p.deliverChange(ctx, one, r, r.ResourceVersion))
}

// deliverChange plays a watch event under a version.
func (p *player) deliverChange(ctx context.Context, one *kind, r *replay.Record, version string) error {
	if one.isKnown(r) {
		return nil
	}
	_, err := p.server.api.Play(ctx, api.PlayedEvent{
		Object: one.stored(p.server.moved(r.Object)), Deleted: r.Type == replay.TypeDeleted, ResourceVersion: version,
	})
	if err != nil {
		return fmt.Errorf("serving record #%d, %s %q: %w", r.Number, one.resource.GroupResource(), r.Name, err)
	}
	return nil
}

// deliverList plays what a list has found. A list is in the order of names, its objects have versions: they are played
// in the order of these. When an object was deleted is not known. Deletions come first, under the lowest versions that
// can have been theirs: so no version runs into those that were recorded.
func (p *player) deliverList(ctx context.Context, one *kind, stream int) error {
	records := p.lists[stream]
	if len(records) == 0 {
		return nil
	}
	delete(p.lists, stream)
	rank := func(r *replay.Record) uint64 {
		if r.Type == replay.TypeDeleted {
			return 0
		}
		return snapshot.VersionNumber(r.ResourceVersion)
	}
	slices.SortStableFunc(records, func(a, b *replay.Record) int { return cmp.Compare(rank(a), rank(b)) })
	var errs []error
	for _, r := range records {
		version := r.ResourceVersion
		if r.Type == replay.TypeDeleted {
			version = ""
		}
		errs = append(errs, p.deliverChange(ctx, one, r, version))
	}
	return errors.Join(errs...)
}

// deliverRest plays the lists that did not end.
func (p *player) deliverRest(ctx context.Context) {
	for _, stream := range slices.Sorted(maps.Keys(p.lists)) {
		records := p.lists[stream]
		if err := p.deliverList(ctx, p.server.kinds.byStream[stream], stream); err != nil && ctx.Err() == nil {
			p.server.kinds.failed(records[0], err)
		}
	}
}
