package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// compressed returns a segment with the records, in frames.
func compressed(t *testing.T, s segment, records ...[]byte) []byte {
	t.Helper()
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, r := range records {
		all = appendBytes(all, r)
	}
	frame := compressor.EncodeAll(all, nil)
	s.size, s.compressed, s.sum = uint32(len(all)), uint32(len(frame)), crc32.Checksum(frame, castagnoli())
	if s.count == 0 {
		s.count = uint32(len(records))
	}
	return append(s.append(nil), frame...)
}

// fileHeader returns the header of an empty recording.
func fileHeader(t *testing.T) []byte {
	t.Helper()
	file, err := appendHeader(nil, &Header{Version: FormatVersion})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestForwardReadable reads a recording with what a later writer of the same version may add.
func TestForwardReadable(t *testing.T) {
	stream := rawRecord{typ: TypeStream, stream: 1, fields: fieldPayload, json: []byte(`{"number":1,"color":"blue"}`)}
	pod := rawRecord{
		typ: TypeAdded, stream: 1, id: 1, name: []byte("web"), data: []byte(`{}`),
		fields: fieldIdentity | fieldWhole | 1<<20, // a field that is not known
	}
	unknown := rawRecord{typ: 99, stream: 7, fields: fieldObject, id: 500}
	end := rawRecord{typ: TypeEnd}
	segments := compressed(t, segment{first: 1, flags: segmentInfo | segmentEnd | 1<<12}, stream.append(nil, 0),
		append(pod.append(nil, 0), "more"...), unknown.append(nil, 0), end.append(nil, 0))

	// A longer segment header, whose checksum is at its end.
	le := binary.LittleEndian
	head := bytes.Clone(segments[frameHead : frameHead+segmentHead-4])
	head = append(head, "more of the header"...)
	head = le.AppendUint32(head, crc32.Checksum(head, castagnoli()))
	longer := le.AppendUint32(le.AppendUint32(nil, skippable), uint32(len(head)))
	longer = append(append(longer, head...), segments[frameHead+segmentHead:]...)

	other := append(le.AppendUint32(le.AppendUint32(nil, skippable+3), 6), "what a"...)
	short := append(le.AppendUint32(le.AppendUint32(nil, skippable), 2), "it"...)
	for reason, parts := range map[string][][]byte{
		"unknown fields, types and flags": {segments},
		"a longer segment header":         {longer},
		"frames of other kinds":           {other, short, segments},
		"something after the end":         {segments, []byte("anything")},
	} {
		t.Run(reason, func(t *testing.T) {
			file := append(fileHeader(t), bytes.Join(parts, nil)...)
			r, err := Open(bytes.NewReader(file), int64(len(file)), ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewStreamReader(bytes.NewReader(file), ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for name, source := range map[string]Source{"file": r, "pipe": s} {
				got, err := readAll(t, source)
				if !errors.Is(err, io.EOF) || len(got) != 3 || got[1].Name != "web" || got[2].Number != 4 {
					t.Errorf("from a %s: %d records, %v", name, len(got), err)
				}
			}
			state, err := r.Seek(Moment{Number: 3})
			if err != nil || state.Len() != 1 {
				t.Errorf("at the unknown record: %v", err)
			}
		})
	}
}

// TestIndexWithOtherFrames reads an index whose segments have frames of other kinds between them.
func TestIndexWithOtherFrames(t *testing.T) {
	le := binary.LittleEndian
	file := fileHeader(t)
	alive, end := rawRecord{typ: TypeAlive}, rawRecord{typ: TypeEnd}
	l := Limits{}.withDefaults()
	var segments []segment
	for i, raw := range []rawRecord{alive, end} {
		file = append(le.AppendUint32(le.AppendUint32(file, skippable+1), 5), "other"...)
		s := segment{first: int64(i) + 1}
		if raw.typ == TypeEnd {
			s.flags = segmentEnd
		}
		frames := compressed(t, s, raw.append(nil, 0))
		s, err := parseSegment(frames[frameHead:frameHead+segmentHead], int64(len(file)), &l)
		if err != nil {
			t.Fatal(err)
		}
		segments = append(segments, s)
		file = append(file, frames...)
	}
	file = appendIndex(file, segments, int64(len(file)))
	r, err := Open(bytes.NewReader(file), int64(len(file)), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.indexed(int64(len(fileHeader(t)))); !reflect.DeepEqual(got, segments) {
		t.Errorf("the index has %+v", got)
	}
	if got, err := readAll(t, r); !errors.Is(err, io.EOF) || len(got) != 2 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestHostile shows which error each lie in a recording gives.
func TestHostile(t *testing.T) {
	stream := rawRecord{typ: TypeStream, stream: 1, fields: fieldPayload, json: []byte(`{"number":1}`)}
	object := func(change func(r *rawRecord)) []byte {
		r := rawRecord{
			typ: TypeAdded, stream: 1, id: 1, name: []byte("web"), data: []byte(`{}`), fields: fieldIdentity | fieldWhole,
		}
		change(&r)
		return r.append(nil, 0)
	}
	known := stream.append(nil, 0)
	bomb := binary.AppendUvarint(nil, 200<<20)
	large := object(func(r *rawRecord) { r.data = make([]byte, 5000) })
	var copies [][]byte
	for i := range 100 { // each makes 4,000 bytes of 10
		delta := binary.AppendUvarint(nil, 4000)
		delta = binary.AppendVarint(binary.AppendUvarint(delta, 4000<<1|1), 0)
		copies = append(copies, object(func(r *rawRecord) {
			r.id, r.base, r.data, r.fields = uint64(i)+2, 1, delta, fieldIdentity|fieldDelta
		}))
	}
	copied := append([][]byte{known, object(func(r *rawRecord) { r.data = make([]byte, 4000) })}, copies...)
	for _, test := range []struct {
		reason  string
		header  segment
		records [][]byte
		want    string
	}{
		{"an object without a stream", segment{}, [][]byte{object(func(r *rawRecord) { r.stream = 0 })}, "record without stream or object"},
		{"a stream that is not defined", segment{}, [][]byte{object(func(*rawRecord) {})}, "stream that is not defined"},
		{"an event without an object", segment{}, [][]byte{known, object(func(r *rawRecord) { r.fields = 0 })}, "record without stream or object"},
		{"an object that is not defined", segment{}, [][]byte{known, object(func(r *rawRecord) { r.fields = fieldObject })}, "object that is not defined"},
		{
			"a base that is not defined", segment{},
			[][]byte{known, object(func(r *rawRecord) { r.fields, r.base = fieldIdentity|fieldDelta, 9 })},
			"delta to an object that is not defined",
		},
		{
			"a delta that is a bomb", segment{},
			[][]byte{known, object(func(*rawRecord) {}), object(func(r *rawRecord) {
				r.fields, r.base, r.data = fieldObject|fieldDelta, 1, bomb
			})},
			"object of 209715200 is over the limit of 4096",
		},
		{"deltas that make large objects of few bytes", segment{}, copied, "size of all objects of"},
		{"an object over the limit", segment{}, [][]byte{known, large}, "object of 5000 is over the limit of 4096"},
		{"a record over the limit", segment{}, [][]byte{make([]byte, 7000)}, "record of 7000 is over the limit of 6144"},
		{
			"a name over the limit", segment{},
			[][]byte{known, object(func(r *rawRecord) { r.name = []byte(strings.Repeat("n", 300)) })},
			"string of 300 is over the limit of 256",
		},
		{"a stream twice", segment{}, [][]byte{known, known}, "stream with a wrong number"},
		{
			"a stream that is no JSON", segment{},
			[][]byte{(&rawRecord{typ: TypeStream, stream: 1, fields: fieldPayload, json: []byte(`{`)}).append(nil, 0)},
			"stream: unexpected end of JSON input",
		},
		{
			"a gap of deep nesting", segment{},
			[][]byte{(&rawRecord{
				typ: TypeGap, fields: fieldPayload, json: []byte(strings.Repeat("[", 250)),
			}).append(nil, 0)},
			"gap: ",
		},
		{"fields that exclude each other", segment{}, [][]byte{known, object(func(r *rawRecord) {
			r.fields |= fieldObject
		})}, "fields that exclude each other"},
		{"a number that ends early", segment{}, [][]byte{{0xff}}, "number ends early"},
		{"a string that ends early", segment{}, [][]byte{{byte(TypeError), byte(fieldMessage), 0, 0, 9}}, "record ends early"},
		{"more records than there are", segment{count: 5}, [][]byte{known}, "other records than its header says"},
		{"a time after the end", segment{begin: 5, end: 6}, [][]byte{(&rawRecord{typ: TypeAlive, time: 9}).append(nil, 0)}, "record after the end"},
		{"times that run back", segment{begin: 6, end: 5}, [][]byte{known}, "impossible numbers"},
		{"a time that overflows", segment{begin: 1, end: math.MaxInt64}, [][]byte{
			append(binary.AppendUvarint([]byte{byte(TypeAlive), 0}, math.MaxUint64), 0),
		}, "too large"},
		{"a number that overflows", segment{first: math.MaxInt64}, [][]byte{known}, "impossible numbers"},
		{"records that are missing", segment{first: 2}, [][]byte{known}, "records are missing"},
		{"a snapshot without a begin", segment{flags: segmentSnapshot}, [][]byte{known}, "snapshot at a wrong place"},
		{"a large segment", segment{}, [][]byte{make([]byte, 40<<10)}, "segment of 40963 is over the limit of 32768"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if test.header.first == 0 && !test.header.is(segmentSnapshot) {
				test.header.first = 1
			}
			if test.header.is(segmentSnapshot) {
				test.header.first = 0
			}
			file := append(fileHeader(t), compressed(t, test.header, test.records...)...)
			options := ReaderOptions{Limits: fuzzLimits()}
			r, err := Open(bytes.NewReader(file), int64(len(file)), options)
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewStreamReader(bytes.NewReader(file), options)
			if err != nil {
				t.Fatal(err)
			}
			for name, source := range map[string]Source{"file": r, "pipe": s} {
				_, err := readAll(t, source)
				var torn *TornError
				if !errors.As(err, &torn) || !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("from a %s: %v, instead of %q", name, err, test.want)
				}
			}
		})
	}
}

// TestBomb shows that what a segment becomes is known before it is decompressed.
func TestBomb(t *testing.T) {
	frames := compressed(t, segment{first: 1}, make([]byte, 30<<20))
	le := binary.LittleEndian
	head := frames[frameHead : frameHead+segmentHead]
	le.PutUint32(head[12:], 100)
	le.PutUint32(head[60:], crc32.Checksum(head[:60], castagnoli()))
	file := append(fileHeader(t), frames...)
	r, err := Open(bytes.NewReader(file), int64(len(file)), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := r.Next(); !errors.Is(err, errDamaged) {
			t.Fatal(err)
		}
	})
	if cap(r.records) > 1000 || allocated > 1000 {
		t.Errorf("%d bytes of memory", cap(r.records))
	}
}
