package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// TestTornAnywhere cuts a recording at every byte: all that was flushed before is read, and nothing else.
func TestTornAnywhere(t *testing.T) {
	t.Parallel()
	records := random(3, 60)
	const every = 4
	file, flushed := write(t, records, replay.WriterOptions{SnapshotEvery: 1500}, every)
	want := memory(records).Records
	ended := whole(t, file, len(want))
	for size := 0; size < len(file); size += stride { //nolint:modernize // stride is above 1 under the race detector
		cut := file[:size]
		if size >= ended {
			// Only the index is missing.
			got, err := all(open(t, cut, replay.ReaderOptions{}))
			if !errors.Is(err, io.EOF) || len(got) != len(want) {
				t.Fatalf("%d bytes without the index: %d records, %v", size, len(got), err)
			}
			continue
		}
		least := 0 // what was flushed; snapshots are between flushes
		for i, n := range flushed {
			if n <= size {
				least = (i + 1) * every
			}
		}
		r, err := replay.Open(bytes.NewReader(cut), int64(size), replay.ReaderOptions{})
		stream, streamErr := replay.NewStreamReader(bytes.NewReader(cut), replay.ReaderOptions{})
		if fmt.Sprint(err) != fmt.Sprint(streamErr) {
			t.Fatalf("%d bytes: a file gives %v, a pipe %v", size, err, streamErr)
		}
		if err != nil {
			var torn *replay.TornError
			if size > 0 && !errors.As(err, &torn) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			continue
		}
		for name, source := range map[string]replay.Source{"file": r, "pipe": stream} {
			got, err := all(source)
			var torn *replay.TornError
			if !errors.As(err, &torn) {
				t.Fatalf("%s of %d bytes: %v", name, size, err)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || torn.Records != int64(len(got)) || torn.Offset > int64(size) {
				t.Fatalf("%s of %d bytes: %d records, %+v", name, size, len(got), torn)
			}
			if len(got) < least {
				t.Fatalf("%s of %d bytes: %d records, %d were flushed", name, size, len(got), least)
			}
			if len(got) > 0 && !torn.Last.Equal(got[len(got)-1].Time) {
				t.Fatalf("%s of %d bytes: last at %v, said %v", name, size, got[len(got)-1].Time, torn.Last)
			}
			if diff := difference(append([]*replay.Record(nil), want[:len(got)]...), got); len(got) > 0 && diff != "" {
				t.Fatalf("%s of %d bytes (-want +got):\n%s", name, size, diff)
			}
			if _, err := source.Next(); !errors.As(err, &torn) {
				t.Fatalf("%s of %d bytes: after the error: %v", name, size, err)
			}
		}
		seekTorn(t, r, want)
	}
}

// whole returns after how many bytes a recording has all records.
func whole(t *testing.T, file []byte, records int) int {
	t.Helper()
	for size := len(file); size > 0; size-- {
		r, err := replay.Open(bytes.NewReader(file[:size]), int64(size), replay.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		info, err := r.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Torn != nil {
			return size + 1
		}
		if info.Records != int64(records) {
			t.Fatalf("%d bytes: %d records", size, info.Records)
		}
	}
	return 0
}

// seekTorn compares the state at the end of a recording that was cut off.
func seekTorn(t *testing.T, r *replay.Reader, want []*replay.Record) {
	t.Helper()
	info, err := r.Info()
	if err != nil {
		t.Fatal(err)
	}
	naive := memory(want[:info.Records])
	naive.Torn = info.Torn
	compareInfo(t, naive, r)
	compareSeek(t, naive, r, replay.Moment{})
	compareSeek(t, naive, r, replay.Moment{Number: info.Records})
	compareSeek(t, naive, r, replay.Moment{Number: info.Records + 1})
	compareSeek(t, naive, r, replay.Moment{Start: true})
}

// TestDamaged changes every byte of a recording: what is read before is right, and the error says so.
func TestDamaged(t *testing.T) {
	t.Parallel()
	records := random(4, 60)
	file, _ := write(t, records, replay.WriterOptions{SnapshotEvery: 1500}, 4)
	want := memory(records)
	for i := 0; i < len(file); i += stride { //nolint:modernize // stride is above 1 under the race detector
		changed := bytes.Clone(file)
		changed[i] ^= 0x10
		r, err := replay.Open(bytes.NewReader(changed), int64(len(changed)), replay.ReaderOptions{})
		if err != nil {
			continue
		}
		got, err := all(r)
		var torn *replay.TornError
		if !errors.Is(err, io.EOF) && !errors.As(err, &torn) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if errors.Is(err, io.EOF) && len(got) != len(want.Records) {
			t.Fatalf("byte %d: %d records without an error", i, len(got))
		}
		if len(got) > 0 && difference(want.Records[:len(got)], got) != "" {
			t.Fatalf("byte %d: other records", i)
		}
		for _, n := range []int64{1, 20, 40, 60} {
			state, err := r.Seek(replay.Moment{Number: n})
			if err != nil {
				continue
			}
			naive, err := want.Seek(replay.Moment{Number: n})
			if err != nil {
				t.Fatal(err)
			}
			if diff := difference(flat(naive), flat(state)); diff != "" {
				t.Fatalf("byte %d: another state at %d (-want +got):\n%s", i, n, diff)
			}
		}
	}
}

// TestDamagedSnapshot shows that all states are read if one snapshot is damaged.
func TestDamagedSnapshot(t *testing.T) {
	records := random(4, 120)
	naive := memory(records)
	file, _ := write(t, records, small(), 4)
	snapshots := 0
	for at := 0; ; {
		n := bytes.Index(file[at:], []byte("krsg\x01\x00"))
		if n < 0 {
			break
		}
		at += n + 6
		if file[at]&1 == 0 || bytes.Contains(file[:at], []byte("krix")) {
			continue
		}
		snapshots++
		changed := bytes.Clone(file)
		changed[at+58] ^= 1 // the first byte after the header
		r := open(t, changed, replay.ReaderOptions{})
		for n := range naive.Records {
			compareSeek(t, naive, r, replay.Moment{Number: int64(n) + 1})
		}
	}
	if snapshots < 3 {
		t.Errorf("only %d snapshots", snapshots)
	}
}

func TestNotARecording(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file, _ := write(t, random(1, 10), replay.WriterOptions{}, 0)
	newer := bytes.Clone(file)
	newer[8+len("kubectl-reconcile recording\n")] = 2
	for _, test := range []struct {
		reason string
		input  []byte
		want   string
	}{
		{"empty", nil, "opening the recording: not a recording: it is empty"},
		{"gzip", []byte("\x1f\x8b\x08\x00"), "opening the recording: not a recording: it looks like gzip"},
		{"zstd of something else", encoder.EncodeAll([]byte("hello"), nil), "opening the recording: not a recording: it looks like zstd"},
		{"encrypted", []byte("age-encryption.org/v1\n"), "opening the recording: not a recording: it looks like age"},
		{"JSON", []byte("\n  {\"kind\":\"List\"}"), "opening the recording: not a recording: it looks like JSON"},
		{"YAML", []byte("apiVersion: v1\nkind: Pod\n"), "opening the recording: not a recording: it looks like YAML"},
		{"anything", []byte("hello, world, this is longer than a header"), "opening the recording: not a recording"},
		{
			"a newer version", newer,
			"opening the recording: the recording has version 2 of the format, versions up to 1 can be read",
		},
		{"the begin of a header", file[:20], "opening the recording: the recording is cut off after record 0 (byte 0): unexpected EOF"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			_, err := replay.Open(bytes.NewReader(test.input), int64(len(test.input)), replay.ReaderOptions{})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("from a file (-want +got):\n%s", diff)
			}
			_, err = replay.NewStreamReader(bytes.NewReader(test.input), replay.ReaderOptions{})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("from a pipe (-want +got):\n%s", diff)
			}
		})
	}
	other := append(bytes.Clone(file[:8]), "what a frame of another program has, which is longer"...)
	for begin, want := range map[string]bool{
		string(file): true, string(file[:10]): true, string(file[:4]): true, string(file[:3]): false, "": false,
		"apiVersion: v1": false, string(other): false,
	} {
		if replay.IsRecording([]byte(begin)) != want {
			t.Errorf("IsRecording(%q) is not %t", begin[:min(len(begin), 40)], want)
		}
	}
}

// TestWholeFileIsZstd reads a recording with nothing but zstd: all frames are valid, and the records come out.
func TestWholeFileIsZstd(t *testing.T) {
	records := random(1, 100)
	file, _ := write(t, records, replay.WriterOptions{}, 10)
	decoder, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	out, err := io.ReadAll(decoder)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"image":"nginx`)) {
		t.Error("the objects are not in the file")
	}
}

func TestWriterRefuses(t *testing.T) {
	stream := func(n int) *replay.Record {
		return &replay.Record{Type: replay.TypeStream, Stream: n, NewStream: &replay.Stream{Number: n, Kind: "Pod"}}
	}
	for _, test := range []struct {
		reason string
		record *replay.Record
		want   string
	}{
		{"an unknown type", &replay.Record{Type: 99}, "writing a record: unknown type 99"},
		{"no type", &replay.Record{}, "writing a record: unknown type 0"},
		{
			"a stream that is not defined", &replay.Record{Type: replay.TypeAdded, Stream: 2, Name: "a"},
			"writing a record: stream 2 is not defined",
		},
		{"an object of no stream", &replay.Record{Type: replay.TypeAdded, Name: "a"}, "writing a record: stream 0 is not defined"},
		{"a stream twice", stream(1), "writing a record: stream 1 is defined already"},
		{"too many streams", stream(3), "writing a record: number of streams of 2 is over the limit of 1"},
		{
			"a stream without its definition", &replay.Record{Type: replay.TypeStream, Stream: 5},
			"writing a record: stream 5 without its definition",
		},
		{"a gap without its description", &replay.Record{Type: replay.TypeGap}, "writing a record: gap without its description"},
		{
			"an object without a name", &replay.Record{Type: replay.TypeAdded, Stream: 1},
			"writing a record: object without a name",
		},
		{
			"an object over the limit",
			&replay.Record{Type: replay.TypeAdded, Stream: 1, Name: "a", Object: make([]byte, 1001)},
			"writing a record: object of 1001 is over the limit of 1000",
		},
		{
			"a string over the limit",
			&replay.Record{Type: replay.TypeError, Message: string(make([]byte, 501))},
			"writing a record: string of 501 is over the limit of 500",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var file bytes.Buffer
			w, err := replay.NewWriter(&file, replay.Header{}, replay.WriterOptions{
				Limits: replay.Limits{Record: 1000, Streams: 1, String: 500},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(stream(1)); err != nil {
				t.Fatal(err)
			}
			err = w.Write(test.record)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			// The next one is written.
			next := &replay.Record{Type: replay.TypeAlive, Time: start()}
			if err := w.Write(next); err != nil || next.Number != 2 {
				t.Errorf("the next record is number %d: %v", next.Number, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := all(open(t, file.Bytes(), replay.ReaderOptions{}))
			if len(got) != 3 || !errors.Is(err, io.EOF) {
				t.Errorf("%d records, %v", len(got), err)
			}
			if err := w.Write(next); err == nil || w.Close() != nil {
				t.Error("a record was written after the end")
			}
		})
	}
}

// TestTimes shows that times never run back, and that a recording may have none.
func TestTimes(t *testing.T) {
	var file bytes.Buffer
	w, err := replay.NewWriter(&file, replay.Header{}, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("east", 3600)
	late, early := start().Add(1500*time.Nanosecond).In(zone), start().Add(-time.Hour)
	for _, at := range []time.Time{{}, late, early, {}} {
		if err := w.Write(&replay.Record{Type: replay.TypeAlive, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := all(open(t, file.Bytes(), replay.ReaderOptions{}))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	last := start().Add(time.Microsecond)
	for i, want := range []time.Time{{}, last, last, last, last} {
		if got[i].Time != want {
			t.Errorf("record %d at %v instead of %v", i+1, got[i].Time, want)
		}
	}
}

// failing is a file on a disk that is full after some bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.left {
		n := f.left
		f.left = 0
		return n, io.ErrShortWrite
	}
	f.left -= len(b)
	return len(b), nil
}

func TestWriterKeepsErrors(t *testing.T) {
	w, err := replay.NewWriter(&failing{left: 400}, replay.Header{}, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		if i == 100 {
			t.Fatal("no error")
		}
		if err = w.Write(&replay.Record{Type: replay.TypeTrace, Object: fmt.Appendf(nil, "%d", i*7919)}); err == nil {
			err = w.Flush()
		}
	}
	for name, got := range map[string]error{
		"Write": w.Write(&replay.Record{Type: replay.TypeAlive}), "Flush": w.Flush(), "Close": w.Close(),
	} {
		if !errors.Is(got, io.ErrShortWrite) {
			t.Errorf("%s after an error: %v", name, got)
		}
	}
}

// TestFlushWhileWriting flushes from another goroutine, and reads what was flushed meanwhile.
func TestFlushWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := replay.NewWriter(file, header(), small())
	if err != nil {
		t.Fatal(err)
	}
	records := random(8, 400)
	var written sync.WaitGroup
	written.Go(func() {
		for _, r := range records {
			if err := w.Write(r.Clone()); err != nil {
				t.Error(err)
			}
		}
	})
	last := 0
	for range 20 {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		stats := w.Stats()
		reader, err := replay.OpenFile(path, replay.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(reader)
		var torn *replay.TornError
		if !errors.Is(err, io.EOF) && !errors.As(err, &torn) || len(got) < last {
			t.Errorf("%d records after %d: %v", len(got), last, err)
		}
		if stats.Unflushed < 0 || stats.Unflushed > stats.Records {
			t.Errorf("stats %+v", stats)
		}
		last = len(got)
		reader.Close()
	}
	written.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := replay.OpenFile(path, replay.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got, err := all(reader)
	if !errors.Is(err, io.EOF) || len(got) != len(records) {
		t.Errorf("%d records, %v", len(got), err)
	}
	s := w.Stats()
	if info, err := file.Stat(); err != nil || info.Size() != s.Written || s.Records != int64(len(records)) {
		t.Errorf("stats %+v of a file of %d bytes, %v", s, info.Size(), err)
	}
}

func TestOpenFile(t *testing.T) {
	if _, err := replay.OpenFile(filepath.Join(t.TempDir(), "none"), replay.ReaderOptions{}); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	dir := t.TempDir()
	if _, err := replay.OpenFile(dir, replay.ReaderOptions{}); fmt.Sprint(err) != fmt.Sprintf("opening %q: not a regular file", dir) {
		t.Errorf("a folder: %v", err)
	}
}
