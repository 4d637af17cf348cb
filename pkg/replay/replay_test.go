package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// start is when the recordings of the tests begin.
func start() time.Time { return time.Date(2026, 11, 27, 10, 4, 0, 0, time.UTC) }

// random returns records of a recording: two streams that are listed, changes of all types, and an end.
func random(seed int64, count int) []*replay.Record {
	rng := rand.New(rand.NewSource(seed))
	version, now := 1000, start()
	var out []*replay.Record
	add := func(r replay.Record) {
		now = now.Add(time.Duration(rng.Intn(500_000)) * time.Microsecond)
		r.Time = now
		out = append(out, &r)
	}
	resources := []string{"pods", "deployments"}
	kinds := []string{"Pod", "Deployment"}
	live := map[replay.Key]string{}
	var keys []replay.Key
	object := func(stream int, name string) replay.Record {
		version++
		uid := fmt.Sprintf("uid-%s", name)
		if rng.Intn(20) == 0 { // was deleted and made again without an event
			uid += "-again"
		}
		return replay.Record{
			Stream: stream, Namespace: "default", Name: name, UID: uid, ResourceVersion: fmt.Sprint(version),
			Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default","uid":%q,"resourceVersion":"%d"},`+
				`"spec":{"containers":[{"image":"nginx:1.%d","nothing":null}],"volumes":[{"name":"kube-api-access","projected":`+
				`{"defaultMode":420}}],"tolerations":[{"key":"node.kubernetes.io/not-ready"}]},"status":{"phase":%q,"n":%d}}`,
				name, uid, version, rng.Intn(30), []string{"Pending", "Running"}[rng.Intn(2)], rng.Intn(1000)),
		}
	}
	for i := range resources {
		add(replay.Record{Type: replay.TypeStream, Stream: i + 1, NewStream: &replay.Stream{
			Number: i + 1, Version: "v1", Kind: kinds[i], Resource: resources[i], Namespaced: true,
		}})
	}
	for i := range resources {
		add(replay.Record{Type: replay.TypeListBegin, Stream: i + 1})
		for j := range rng.Intn(4) {
			r := object(i+1, fmt.Sprintf("%s-web-%d", resources[i], j))
			r.Type = replay.TypeListItem
			live[r.Key()] = r.UID
			keys = append(keys, r.Key())
			add(r)
		}
		version++
		add(replay.Record{Type: replay.TypeListEnd, Stream: i + 1, ResourceVersion: fmt.Sprint(version)})
	}
	for len(out) < count {
		stream := 1 + rng.Intn(2)
		switch n := rng.Intn(20); {
		case n < 5:
			r := object(stream, fmt.Sprintf("%s-app-%d", resources[stream-1], rng.Intn(12)))
			r.Type = replay.TypeAdded
			if _, ok := live[r.Key()]; ok {
				r.Type = replay.TypeModified
			} else {
				keys = append(keys, r.Key())
			}
			live[r.Key()] = r.UID
			add(r)
		case n < 15 && len(keys) > 0:
			i := rng.Intn(len(keys))
			k := keys[i]
			r := object(k.Stream, k.Name)
			r.Type = replay.TypeModified
			r.Relisted = rng.Intn(10) == 0
			if n == 14 {
				r.Type = replay.TypeDeleted
				delete(live, k)
				keys = append(keys[:i], keys[i+1:]...)
			}
			if rng.Intn(20) == 0 {
				r.Object = nil
			}
			add(r)
		case n == 15:
			version++
			add(replay.Record{Type: replay.TypeBookmark, Stream: stream, ResourceVersion: fmt.Sprint(version)})
		case n == 16:
			add(replay.Record{Type: replay.TypeError, Stream: stream, Message: "too old resource version",
				Object: []byte(`{"kind":"Status","code":410}`)})
		case n == 17:
			add(replay.Record{Type: replay.TypeGap, Stream: stream * rng.Intn(2), Message: "gone", Gap: &replay.Gap{
				Reason: replay.GapWatchExpired, Since: now, Attempts: rng.Intn(3),
			}})
		case n == 18:
			add(replay.Record{Type: replay.TypeTrace, Object: fmt.Appendf(nil, `{"reconcile":%d}`, version)})
		case n == 19:
			add(replay.Record{Type: replay.TypeAlive})
		}
	}
	add(replay.Record{Type: replay.TypeEnd, Message: "interrupted"})
	return out
}

// header is that of the recordings of the tests.
func header() replay.Header {
	return replay.Header{
		Version: replay.FormatVersion, Tool: "test", Server: "v1.37.1", Start: start(), Options: []string{"-A"},
	}
}

// write returns the recording of the records, which is flushed after every n records if n is not 0, and the number of
// bytes after each flush.
func write(t testing.TB, records []*replay.Record, o replay.WriterOptions, n int) ([]byte, []int) {
	t.Helper()
	var file bytes.Buffer
	var flushed []int
	w, err := replay.NewWriter(&file, header(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if err := w.Write(r.Clone()); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if n > 0 && i%n == n-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			flushed = append(flushed, file.Len())
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), flushed
}

// open returns a Reader of a recording.
func open(t testing.TB, file []byte, o replay.ReaderOptions) *replay.Reader {
	t.Helper()
	r, err := replay.Open(bytes.NewReader(file), int64(len(file)), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// all returns the records that are left in a source, and the error after them.
func all(s replay.Source) ([]*replay.Record, error) {
	var out []*replay.Record
	for {
		r, err := s.Next()
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
}

// small are options that make many segments and snapshots of few records.
func small() replay.WriterOptions {
	return replay.WriterOptions{SegmentSize: 700, SnapshotEvery: 2000}
}

// memory returns the records as a Recording that knows nothing of files.
func memory(records []*replay.Record) *replay.Memory {
	m := &replay.Memory{Head: header()}
	for _, r := range records {
		m.Append(r.Clone())
	}
	return m
}

// state is a State in a form that can be compared.
type state struct {
	Number  int64
	Time    time.Time
	Streams []*replay.StreamState
	Objects []*replay.Record
}

func flat(s *replay.State) state {
	out := state{Number: s.Number, Time: s.Time, Streams: s.Streams()}
	for _, r := range s.Objects() {
		out.Objects = append(out.Objects, r)
	}
	return out
}

// difference is cmp.Diff, which is slow, for what is mostly equal.
func difference[T any](want, got T) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateErrors(), cmpopts.EquateEmpty())
}

func TestRoundTrip(t *testing.T) {
	for seed := range int64(20) {
		records := random(seed, 300)
		for _, o := range []replay.WriterOptions{{}, small()} {
			file, _ := write(t, records, o, int(seed))
			want := memory(records)
			for _, test := range []struct {
				reason string
				open   func() (replay.Source, error)
			}{
				{"with the index", func() (replay.Source, error) { return open(t, file, replay.ReaderOptions{}), nil }},
				{"from segment to segment", func() (replay.Source, error) {
					return open(t, file, replay.ReaderOptions{NoIndex: true}), nil
				}},
				{"from a pipe", func() (replay.Source, error) {
					return replay.NewStreamReader(bytes.NewReader(file), replay.ReaderOptions{})
				}},
			} {
				source, err := test.open()
				if err != nil {
					t.Fatalf("%s: %v", test.reason, err)
				}
				if diff := cmp.Diff(header(), source.Header()); diff != "" {
					t.Errorf("%s: header (-want +got):\n%s", test.reason, diff)
				}
				got, err := all(source)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", test.reason, err)
				}
				if diff := difference(want.Records, got); diff != "" {
					t.Fatalf("seed %d, %s: records (-want +got):\n%s", seed, test.reason, diff)
				}
			}
		}
	}
}

func TestSeekEverywhere(t *testing.T) {
	t.Parallel()
	for seed := range int64(6) {
		records := random(seed, 200)
		file, _ := write(t, records, small(), 7)
		naive := memory(records)
		for _, o := range []replay.ReaderOptions{{}, {NoIndex: true}} {
			reader := open(t, file, o)
			compareInfo(t, naive, reader)
			moments := []replay.Moment{{}, {Start: true}, {ResourceVersion: "1"}, {ResourceVersion: "99999"}, {Number: 9999}}
			special := len(moments)
			for _, r := range naive.Records {
				moments = append(moments, replay.Moment{Number: r.Number}, replay.Moment{Time: r.Time},
					replay.Moment{Time: r.Time.Add(-time.Microsecond)}, replay.Moment{Time: r.Time.Add(time.Microsecond)})
				if r.ResourceVersion != "" {
					moments = append(moments, replay.Moment{ResourceVersion: r.ResourceVersion})
				}
			}
			for i := range moments {
				if i < special || i%stride == 0 {
					compareSeek(t, naive, reader, moments[i])
				}
			}
		}
	}
}

func compareInfo(t *testing.T, naive, reader replay.Recording) {
	t.Helper()
	want, err := naive.Info()
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Info()
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

// compareSeek compares the state at a moment, and the record after it.
func compareSeek(t *testing.T, naive, reader replay.Recording, m replay.Moment) {
	t.Helper()
	want, wantErr := naive.Seek(m)
	got, err := reader.Seek(m)
	if wantErr != nil || err != nil {
		if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
			t.Fatalf("seek %s: error (-want +got):\n%s", m, diff)
		}
		if _, ok := errors.AsType[*replay.OutsideError](err); !ok {
			t.Fatalf("seek %s: %v", m, err)
		}
		return
	}
	if diff := difference(flat(want), flat(got)); diff != "" {
		t.Fatalf("seek %s: state (-want +got):\n%s", m, diff)
	}
	wantNext, wantErr := naive.Next()
	next, err := reader.Next()
	if diff := difference(wantNext, next); diff != "" || !errors.Is(err, wantErr) {
		t.Fatalf("seek %s: next record, errors %v and %v (-want +got):\n%s", m, wantErr, err, diff)
	}
}
