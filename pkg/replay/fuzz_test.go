package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// fuzzLimits are small, so that what goes over them is found.
func fuzzLimits() Limits {
	return Limits{Record: 4096, Segment: 32 << 10, State: 256 << 10, Streams: 4, Gaps: 8, String: 256}
}

// fuzzRecording returns a recording with all types of records, with segments and snapshots of a few records.
func fuzzRecording(t testing.TB, end bool) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{Tool: "test"}, WriterOptions{
		Limits: fuzzLimits(), SegmentSize: 300, SnapshotEvery: 600,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 27, 10, 4, 0, 0, time.UTC)
	add := func(r Record) {
		now = now.Add(time.Second)
		r.Time = now
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	add(Record{Type: TypeStream, Stream: 1, NewStream: &Stream{Number: 1, Version: "v1", Kind: "Pod", Resource: "pods"}})
	add(Record{Type: TypeListBegin, Stream: 1})
	for i := range 40 {
		typ := []Type{TypeListItem, TypeModified, TypeModified, TypeDeleted}[i/10]
		if i == 10 {
			add(Record{Type: TypeListEnd, Stream: 1, ResourceVersion: "110"})
			add(Record{Type: TypeBookmark, Stream: 1, ResourceVersion: "111"})
			add(Record{Type: TypeGap, Message: "gone", Gap: &Gap{Reason: GapSleep, Since: now}})
			add(Record{Type: TypeError, Stream: 1, Message: "gone", Object: []byte(`{"code":410}`)})
			add(Record{Type: TypeTrace, Object: []byte(`{"event":1}`)})
			add(Record{Type: TypeAlive})
		}
		version := fmt.Sprint(100 + i)
		add(Record{
			Type: typ, Stream: 1, Namespace: "a", Name: fmt.Sprintf("web-%d", i%10), UID: fmt.Sprint(i % 10),
			ResourceVersion: version, Object: fmt.Appendf(nil, `{"metadata":{"name":"web-%d","resourceVersion":%q},`+
				`"spec":{"image":"nginx"},"status":{"phase":"Running","count":%d}}`, i%10, version, i*i),
		})
	}
	if !end {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// repair makes the checksums of a recording those of its content, as far as its frames can be followed: without it,
// changes of a fuzzer would not get past them.
func repair(file []byte) []byte {
	le := binary.LittleEndian
	file = bytes.Clone(file)
	var s *segment
	for rest := file; len(rest) >= frameHead; {
		if s != nil { // its records
			rest = rest[min(int64(len(rest)), int64(s.compressed)):]
			s = nil
			continue
		}
		n := int64(le.Uint32(rest[4:]))
		if n > int64(len(rest)-frameHead) || n < 8 {
			break
		}
		payload := rest[frameHead : frameHead+n]
		rest = rest[frameHead+n:]
		body := len(payload) - 4
		switch {
		case string(payload[:4]) == tagIndex && n > int64(indexEnd):
			le.PutUint32(payload[n-int64(indexEnd):], crc32.Checksum(payload[:n-int64(indexEnd)], castagnoli()))
		case string(payload[:4]) == tagSegment && n >= segmentHead:
			compressed := int64(le.Uint32(payload[8:]))
			if compressed <= int64(len(rest)) {
				le.PutUint32(payload[16:], crc32.Checksum(rest[:compressed], castagnoli()))
			}
			le.PutUint32(payload[body:], crc32.Checksum(payload[:body], castagnoli()))
			s = &segment{compressed: uint32(compressed)}
		default:
			le.PutUint32(payload[body:], crc32.Checksum(payload[:body], castagnoli()))
		}
	}
	return file
}

// readAll reads a source to its end, and checks what every source promises.
func readAll(t *testing.T, s Source) ([]*Record, error) {
	t.Helper()
	var out []*Record
	var last time.Time
	for {
		r, err := s.Next()
		if err != nil {
			if _, again := s.Next(); again == nil {
				t.Fatal("a record after an error")
			}
			var torn *TornError
			if !errors.Is(err, io.EOF) && !errors.As(err, &torn) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return out, err
		}
		if r.Time.Before(last) || r.Type.String() == "" || r.Type.HasObject() && r.Stream == 0 {
			t.Fatalf("impossible record %+v", r)
		}
		if len(out) > 0 && r.Number <= out[len(out)-1].Number {
			t.Fatalf("record %d after %d", r.Number, out[len(out)-1].Number)
		}
		last = r.Time
		out = append(out, r)
	}
}

// use does with a recording what commands do, and returns what was read.
func use(t *testing.T, file []byte, o ReaderOptions) ([]*Record, error) {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)), o)
	if err != nil {
		return nil, err
	}
	records, end := readAll(t, r)
	info, err := r.Info()
	if err != nil {
		return records, end
	}
	// Snapshots may say something else than the records before them: only a writer knows. Of records of unknown types
	// nothing but their numbers is known.
	var naive Memory
	if info.Records == int64(len(records)) && !slices.ContainsFunc(r.segments, func(s segment) bool { return s.is(segmentSnapshot) }) {
		naive.Records = records
	}
	moments := []Moment{{}, {Start: true}, {ResourceVersion: "115"}, {Number: info.Records}, {Number: info.Records / 2}}
	for _, m := range append(moments, Moment{Time: info.Last}, Moment{Time: info.First}) {
		state, err := r.Seek(m)
		if err != nil {
			continue
		}
		if naive.Records != nil && (m.Time.IsZero() || areTimes(info, records)) {
			expected, err := naive.Seek(m)
			if err != nil || !reflect.DeepEqual(state, expected) {
				t.Fatalf("seek %s: another state, %v", m, err)
			}
		}
		_, _ = readAll(t, r)
	}
	return records, end
}

// areTimes reports whether the times that segments give for their records are those of the records.
func areTimes(info Info, records []*Record) bool {
	n := len(records)
	return n > 0 && info.First.Equal(records[0].Time) && info.Last.Equal(records[n-1].Time)
}

func FuzzReader(f *testing.F) {
	f.Add(fuzzRecording(f, true), true)
	f.Add(fuzzRecording(f, false), true)
	f.Add([]byte("\x28\xb5\x2f\xfd"), false)
	f.Fuzz(func(t *testing.T, file []byte, repaired bool) {
		if repaired {
			file = repair(file)
		}
		_, _ = use(t, file, ReaderOptions{Limits: fuzzLimits()})
	})
}

func FuzzStreamReader(f *testing.F) {
	f.Add(fuzzRecording(f, true), true)
	f.Add(fuzzRecording(f, false), true)
	f.Fuzz(func(t *testing.T, file []byte, repaired bool) {
		if repaired {
			file = repair(file)
		}
		s, err := NewStreamReader(bytes.NewReader(file), ReaderOptions{Limits: fuzzLimits()})
		r, openErr := Open(bytes.NewReader(file), int64(len(file)), ReaderOptions{Limits: fuzzLimits(), NoIndex: true})
		if (err == nil) != (openErr == nil) {
			t.Fatalf("a pipe gives %v, a file %v", err, openErr)
		}
		if err != nil {
			return
		}
		// A pipe yields the records of a file.
		got, err := readAll(t, s)
		want, wantErr := readAll(t, r)
		if !reflect.DeepEqual(got, want) || (errors.Is(err, io.EOF)) != (errors.Is(wantErr, io.EOF)) {
			t.Fatalf("%d records and %v, instead of %d and %v", len(got), err, len(want), wantErr)
		}
	})
}

// FuzzRecords puts any bytes into the segments of a recording, where no checksum is in the way.
func FuzzRecords(f *testing.F) {
	whole := fuzzRecording(f, true)
	r, err := Open(bytes.NewReader(whole), int64(len(whole)), ReaderOptions{Limits: fuzzLimits()})
	if err != nil {
		f.Fatal(err)
	}
	for i := range r.segments {
		if err := r.load(i); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(r.records), r.segments[i].count, r.segments[i].flags)
	}
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, records []byte, count uint32, flags uint16) {
		first, _, err := readHeaderBytes(whole)
		if err != nil {
			t.Fatal(err)
		}
		compressed := compressor.EncodeAll(records, nil)
		s := segment{
			first: 1, count: count, flags: flags, size: uint32(len(records)), compressed: uint32(len(compressed)),
			sum: crc32.Checksum(compressed, castagnoli()), end: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
		}
		if s.is(segmentSnapshot) {
			s.first = 0
		}
		file := append(s.append(bytes.Clone(whole[:first])), compressed...)
		_, _ = use(t, append(file, file[first:]...), ReaderOptions{Limits: fuzzLimits()})
	})
}

// readHeaderBytes returns how long the file header is.
func readHeaderBytes(file []byte) (int64, Header, error) {
	h, n, err := readHeader(bytes.NewReader(file))
	return n, h, err
}

// FuzzIndex changes the index: the records are the same as without it, or there is an error.
func FuzzIndex(f *testing.F) {
	whole := fuzzRecording(f, true)
	offset := binary.LittleEndian.Uint64(whole[len(whole)-16:])
	index := whole[offset:]
	r, err := Open(bytes.NewReader(whole), int64(len(whole)), ReaderOptions{Limits: fuzzLimits(), NoIndex: true})
	if err != nil {
		f.Fatal(err)
	}
	var want []*Record
	for {
		record, err := r.Next()
		if err != nil {
			break
		}
		want = append(want, record)
	}
	naive := Memory{Records: want}
	for i := 0; i < len(index); i += 7 {
		f.Add(uint32(i), index[i]^1, uint32(i+20), index[0])
	}
	f.Add(uint32(0), index[0], uint32(0), index[0])
	f.Fuzz(func(t *testing.T, at uint32, value byte, at2 uint32, value2 byte) {
		file := bytes.Clone(whole)
		changed := file[offset:]
		changed[int(at)%len(changed)] = value
		changed[int(at2)%len(changed)] = value2
		// The headers in the index have checksums of their own.
		le := binary.LittleEndian
		for i := frameHead + indexHead; i+indexEntry <= len(changed)-indexEnd; i += indexEntry {
			entry := changed[i+8 : i+indexEntry]
			le.PutUint32(entry[segmentHead-4:], crc32.Checksum(entry[:segmentHead-4], castagnoli()))
		}
		body := changed[frameHead : len(changed)-indexEnd]
		le.PutUint32(changed[len(changed)-indexEnd:], crc32.Checksum(body, castagnoli()))
		r, err := Open(bytes.NewReader(file), int64(len(file)), ReaderOptions{Limits: fuzzLimits()})
		if err != nil {
			return
		}
		got, err := readAll(t, r)
		if errors.Is(err, io.EOF) && len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
			t.Fatalf("other records: %d, %v", len(got), err)
		}
		for _, m := range []Moment{
			{}, {Number: 1}, {Number: 17}, {Number: 33}, {Number: 49}, {Start: true}, {ResourceVersion: "112"},
			{ResourceVersion: "125"}, {Time: want[5].Time}, {Time: want[30].Time}, {Time: want[40].Time.Add(1)},
		} {
			state, err := r.Seek(m)
			if err != nil {
				continue
			}
			expected, err := naive.Seek(m)
			if err != nil {
				t.Fatalf("seek %s: no error, instead of %v", m, err)
			}
			if state.Number != expected.Number || !reflect.DeepEqual(state.objects, expected.objects) ||
				!reflect.DeepEqual(state.streams, expected.streams) {
				t.Fatalf("seek %s: at %d instead of %d", m, state.Number, expected.Number)
			}
		}
	})
}
