// Package compare plays a recording again, lets real controllers run on it, and compares what they write with what was
// recorded. [Run] does so with controllers of Kubernetes, [RunProgram] with a program of your own, and each returns a
// [Result].
//
// The events of a recording are inputs, or effects of the controllers that are compared. Inputs are played in the order
// in which they were written. Effects are withheld: a write of a controller is compared with the next withheld effect
// of the same key, and if it is the same, it is answered with the recorded object, whose event is then played. So the
// controllers see the objects, names and uids of the recording. What is not the same ends the comparison of its key,
// and the effects of that key become inputs.
//
//	rules.go     what each controller writes, and which key of its queue that belongs to; what keys name
//	attribute.go which events are effects, and of whom; reasons.go why a controller deletes
//	load.go      the events of a recording, in the order in which they were written; traced.go its trace, audited.go
//	             an audit log
//	hiding.go    what cannot be compared, as it was redacted, and what no difference shows
//	content.go   objects without what differs from run to run; decode.go the objects that controllers send
//	match.go     withheld effects, and the writes that match them
//	times.go     recorded times as times of the run
//	handler.go   writes of controllers are answered in the place of the API
//	run.go       Run: its options, and what it begins with; schedule.go plays the inputs, and decides when each key is
//	             reconciled; timers.go lets time pass while keys wait for timers; answer.go compares what is written
//	             then; nodes.go tells which nodes are as good as others, and causes.go why keys were reconciled
//	result.go    Result: what was the same, and what was not
//	program.go   RunProgram: the same with a program, which cannot be held; programschedule.go decides when its writes
//	             are due, programmatch.go compares them, programrefused.go judges those that were refused, and
//	             programwrites.go knows which are its own; accept.go makes the recording what it does
//
// A run does not depend on how fast the machine is: keys are held until the recording has come to the next effect of
// the key, or has gone on for a while without one, and are then reconciled one at a time. Keys that a controller has
// put off by a timer are reconciled when that ends, and tried before, beside each event, as the recorded controller may
// have been woken a little earlier. While a controller waits for timers, the time between events passes as it was
// recorded, as it reckons from times in objects. If something differs, and a trace shows that the recorded caches may
// have been behind, it is run again, with what they may not have had put after what differs.
//
// Keys are held, released and waited for by the session, as in package plan; which is next is decided here, as it goes
// by the recording, and a program is not held at all: its writes are.
package compare
