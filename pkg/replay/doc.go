// Package replay is the format of recordings: what an API server said about objects of many kinds, in the order in
// which it arrived, with the resource versions and the bytes that it sent. A [Writer] writes a recording, a [Reader]
// reads one in order, or from any moment. A [State] is what was known at a moment.
//
// [OpenFile] opens a recording. Its records are what the server sent; for what changed, and by whom, begin with
// timeline.ReadFile.
//
// record.go has the records that a recording consists of, source.go what yields them, state.go the objects at a moment,
// moment.go how a moment is named and found, parse.go how people write it. writer.go, reader.go and stream.go are the
// file: segment.go its segments, snapshot.go the states from which seek.go begins to read, written.go what a writer
// knows of each object, encode.go the records in them, decode.go the objects of the records, delta.go the difference of
// two versions of an object, index.go the index at the end. errors.go and limits.go are what can be wrong with a file.
// docs/recording.md describes the format.
//
// The packages below it make and use records: recorder records a cluster, redact hides secrets, imports reads what
// other tools wrote, exports writes for them, timeline describes what changed. None of them runs controllers or serves
// an API: see pkg/runlocal/playback.
package replay
