package input

import (
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// joined is a stream that is in one file or in several. What a later file begins with is compared with what is known:
// the list of a recording that continues another one, and events that both have.
type joined struct {
	stream replay.Stream
	// known has the last records of the objects that are there, gone the versions of those that were deleted.
	known map[replay.Key]*replay.Record
	gone  map[replay.Key]string
	// listed is set once a list is complete; listing is the file whose list is read, and seen has its objects.
	listed  bool
	listing *part
	relist  bool
	seen    map[replay.Key]bool
}

// add adds a record of a file to the merged stream, to which it belongs already.
func (j *joined) add(m *merged, p *part, r *replay.Record) {
	switch {
	case r.Type == replay.TypeListBegin:
		// Later lists of a file have only what has changed.
		j.listing, j.relist, j.seen = p, !p.lists[j] && (j.listed || len(j.known) > 0), map[replay.Key]bool{}
		p.lists[j] = true
		m.emit(r)
	case r.Type == replay.TypeListEnd:
		if j.listing == p && j.relist {
			j.deleteUnseen(m, r)
		}
		j.listing, j.listed = nil, true
		m.emit(r)
	case r.Type.HasObject():
		j.addObject(m, p, r)
	default:
		m.emit(r)
	}
}

func (j *joined) addObject(m *merged, p *part, r *replay.Record) {
	k := r.Key()
	if j.listing == p && j.seen != nil {
		j.seen[k] = true
	}
	before := j.known[k]
	switch {
	case r.Type == replay.TypeDeleted:
		if before == nil && j.gone[k] != "" {
			return // another file had it
		}
		delete(j.known, k)
		j.gone[k] = r.ResourceVersion
		m.emit(r)
		return
	case before != nil && before.UID == r.UID && before.ResourceVersion != "" &&
		!snapshot.IsNewer(r.ResourceVersion, before.ResourceVersion):
		return // another file had it
	case before == nil && j.gone[k] != "" && r.ResourceVersion != "" && !snapshot.IsNewer(r.ResourceVersion, j.gone[k]):
		return // another file had it, and that it is gone
	case r.Type == replay.TypeListItem && j.relist:
		r.Type, r.Relisted = replay.TypeAdded, true
		if before != nil {
			r.Type = replay.TypeModified
		}
	case r.Type == replay.TypeAdded && before != nil:
		r.Type = replay.TypeModified // kubectl prints what it listed as ADDED, although another file has it
	}
	j.known[k] = r
	m.emit(r)
}

// deleteUnseen adds the deletions of the objects that a list does not have. end is the end of the list.
func (j *joined) deleteUnseen(m *merged, end *replay.Record) {
	var unseen []replay.Key
	for k := range j.known {
		if !j.seen[k] {
			unseen = append(unseen, k)
		}
	}
	slices.SortFunc(unseen, replay.Key.Compare)
	for _, k := range unseen {
		r := j.known[k].Clone()
		r.Type, r.Relisted, r.Time = replay.TypeDeleted, true, end.Time
		delete(j.known, k)
		j.gone[k] = r.ResourceVersion
		m.emit(r)
	}
}
