// Package recorder records what the API server of a cluster says about objects of many kinds: it lists and watches
// them, and passes what arrives to a Sink as the records of package replay, with the bytes that the server sent, in the
// order of arrival. It only reads, and writes no file: a replay.Writer is such a Sink.
//
// [New] makes a [Recorder], and Run records what [Choose] has chosen of the kinds of a cluster, until its context ends.
//
// It goes on whatever happens to the server, the network and this machine, and records that too: a watch that ends is
// resumed where it ended; if the server no longer has the events since, a new list is compared with what was known, and
// the differences are recorded as changes that are marked Relisted; and a time without the server is a GAP.
//
// recorder.go has the Recorder and its streams, selection.go what to record, and kinds.go a choice of kinds, to which
// rediscover.go adds new ones. stream.go lists and watches the objects of one stream, relist.go compares lists,
// failure.go decides what an error means and how long to wait. api.go sends the requests, whose answers apijson reads.
// journal.go puts the records of all streams in one order, and remembers the last state of each object, as in known.go;
// journalclock.go has their times. await.go waits until all is recorded. troubles.go has what cannot be recorded,
// stats.go what was.
package recorder
