package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// journal writes the records of all streams in one order, and remembers the last state of each object. Its methods may
// be called concurrently.
type journal struct {
	clock  clock.PassiveClock
	sink   replay.Sink
	packer *packer
	// failed is called once with the first error of the sink.
	failed func(error)

	mu      sync.Mutex // guards all below, and the sink
	last    time.Time  // of the last record
	awake   time.Time  // when this process was last seen to run; zero while no one looks
	slept   span       // the last time in which it did not run
	err     error      // the first of the sink
	ended   bool       // nothing is written any more
	streams []*streamState
	listing int // streams whose list is being written
	stats   Stats
	// unflushed reports whether records were written since the last flush.
	unflushed bool
}

// span is a time; zero is none.
type span struct{ since, till time.Time }

// streamState is what was written of a stream.
type streamState struct {
	definition replay.Stream
	version    string
	known      map[objectKey]knownObject
}

type objectKey struct{ namespace, name string }

// define writes the definition of a stream, and returns its number.
func (j *journal) define(definition replay.Stream) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	definition.Number = len(j.streams) + 1
	j.streams = append(j.streams, &streamState{definition: definition, known: map[objectKey]knownObject{}})
	j.stats.Streams++
	return definition.Number, j.put(&replay.Record{
		Type: replay.TypeStream, Stream: definition.Number, NewStream: &definition,
	})
}

// known returns what was written of the objects of a stream. The caller must be the only one that writes to it.
func (j *journal) known(stream int) map[objectKey]knownObject {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.streams[stream-1].known
}

// write writes records, one after the other without others between them. The records and their objects belong to the
// journal from then on.
func (j *journal) write(records ...*replay.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range records {
		if err := j.put(r); err != nil {
			return err
		}
	}
	return j.rotate()
}

// put writes one record. j.mu must be held.
func (j *journal) put(r *replay.Record) error {
	if j.err != nil || j.ended {
		return j.err
	}
	now := j.now()
	if err := j.recordSleep(now); err != nil {
		return err
	}
	r.Time, j.last = now, now
	if !j.awake.IsZero() {
		j.awake = now
	}
	j.apply(r)
	j.stats.count(r)
	return j.pass(r)
}

// pass passes a record to the sink.
func (j *journal) pass(r *replay.Record) error {
	j.unflushed = true
	err := j.sink.Write(r)
	if limit := (*replay.LimitError)(nil); errors.As(err, &limit) {
		j.stats.Dropped++
		err = j.sink.Write(&replay.Record{Type: replay.TypeError, Stream: r.Stream, Time: r.Time, Message: fmt.Sprintf(
			"%s of %s was left out: %v", r.Type, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), limit)})
	}
	if err != nil {
		return j.fail(err)
	}
	return nil
}

// fail keeps the first error of the sink.
func (j *journal) fail(err error) error {
	if j.err == nil {
		j.err = err
		j.failed(j.err)
	}
	return j.err
}

// broken reports whether the sink has failed.
func (j *journal) broken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil
}

// end writes the last record, and makes the sink write all that it has buffered.
func (j *journal) end(message string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.put(&replay.Record{Type: replay.TypeEnd, Message: message}); err != nil {
		return err
	}
	j.ended = true
	return j.flush()
}

// drop counts an object that is not recorded.
func (j *journal) drop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Dropped++
}

// apply changes what is known of the stream of a record.
func (j *journal) apply(r *replay.Record) {
	if r.Stream == 0 || r.Stream > len(j.streams) {
		return
	}
	s := j.streams[r.Stream-1]
	key := objectKey{r.Namespace, r.Name}
	switch r.Type {
	case replay.TypeListItem:
		s.known[key] = j.packer.pack(knownObject{uid: r.UID, version: r.ResourceVersion, object: r.Object})
	case replay.TypeAdded, replay.TypeModified:
		s.known[key] = knownObject{uid: r.UID, version: r.ResourceVersion, object: r.Object}
	case replay.TypeDeleted:
		delete(s.known, key)
	case replay.TypeListBegin:
		j.listing++
	case replay.TypeListEnd:
		j.listing--
	case replay.TypeStream, replay.TypeBookmark, replay.TypeError, replay.TypeGap, replay.TypeTrace, replay.TypeAlive,
		replay.TypeEnd:
	}
	if r.ResourceVersion != "" && r.Type != replay.TypeListItem && !r.Relisted {
		s.version = r.ResourceVersion
	}
}

// rotate begins the next recording if the sink wants to: with the state that the one before has ended with, as lists.
// No list of a stream is divided. j.mu must be held.
func (j *journal) rotate() error {
	rotator, ok := j.sink.(Rotator)
	if !ok || j.err != nil || j.listing > 0 || !rotator.Full() {
		return j.err
	}
	if err := rotator.Next(); err != nil {
		return j.fail(err)
	}
	for _, s := range j.streams {
		if err := j.snapshot(s); err != nil {
			return err
		}
	}
	return j.flush()
}

// snapshot writes the definition of a stream, and its objects as a list.
func (j *journal) snapshot(s *streamState) error {
	now := j.now()
	pass := func(r replay.Record) error {
		r.Stream, r.Time = s.definition.Number, now
		return j.pass(&r)
	}
	definition := s.definition
	if err := pass(replay.Record{Type: replay.TypeStream, NewStream: &definition}); err != nil {
		return err
	}
	if s.version == "" {
		return nil // its first list is not written yet
	}
	if err := pass(replay.Record{Type: replay.TypeListBegin}); err != nil {
		return err
	}
	for _, key := range sortedKeys(s.known) {
		known := s.known[key]
		object, err := j.packer.unpack(&known)
		if err != nil {
			return j.fail(err)
		}
		err = pass(replay.Record{
			Type: replay.TypeListItem, Namespace: key.namespace, Name: key.name, UID: known.uid,
			ResourceVersion: known.version, Object: object,
		})
		if err != nil {
			return err
		}
	}
	return pass(replay.Record{Type: replay.TypeListEnd, ResourceVersion: s.version})
}

// sortedKeys returns the keys of objects, in the order in which an API server lists them.
func sortedKeys(objects map[objectKey]knownObject) []objectKey {
	return slices.SortedFunc(maps.Keys(objects), func(a, b objectKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// tick is called about every second: it writes that the recorder is alive, if connected and nothing else was written
// for a while, and makes the sink write what it has buffered.
func (j *journal) tick(connected bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	now := j.now()
	if err := j.recordSleep(now); err != nil {
		return err
	}
	j.awake = now
	if connected && now.Sub(j.last) >= aliveInterval {
		if err := j.put(&replay.Record{Type: replay.TypeAlive}); err != nil {
			return err
		}
	}
	return j.flush()
}

// flush makes the sink write what it has buffered. j.mu must be held.
func (j *journal) flush() error {
	flusher, ok := j.sink.(Flusher)
	if !ok || !j.unflushed {
		return j.err
	}
	j.unflushed = false
	if err := flusher.Flush(); err != nil {
		return j.fail(err)
	}
	return nil
}

// statistics returns what was written so far.
func (j *journal) statistics() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.stats
	out.Gaps = withLosses(out.Gaps)
	out.Last = j.last
	for _, s := range j.streams {
		out.Objects += len(s.known)
	}
	return out
}
