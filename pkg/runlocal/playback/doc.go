// Package playback serves a recording by the embedded API: clients see the cluster as it was at a moment, and as time
// goes on they receive the watch events that it sent, with the resource versions that they had.
//
// [Start] returns a [Server] of a recording that replay.OpenFile has opened: its Config is for clients, and Step, Play
// and Seek let time go on. In a test package playbacktest does it. No controllers run, and writes are refused unless
// Options.Writable is set; package compare runs controllers on recordings.
//
// Start loads the state at a moment below the REST layer, so that objects keep what only a server sets. kinds.go
// decides which kinds are served, since several streams of a recording may be about the same objects, and
// definitions.go defines custom resources that were recorded alone. player.go applies records to the API, one after the
// other; time.go does so in the order of their times, and moves the times in objects for clients that act on them;
// writes.go ends it when a client writes; control.go lets other programs steer it.
package playback
