// Package session runs a session of controllers for a command, `run` or `sandbox`, and prints what they do. Its files
// are the stages that a run passes through, each of which takes what the one before returns:
//
//	flags.go      Flags, which both commands have; controllers.go selects the controllers that they name
//	options.go    Options, made of flags by the command, with the Target: the sandbox (sandbox.go), or what the
//	              command provides
//	session.go    Options.Run starts the session, applies objects, waits for the goal and stops
//	outputs.go    Outputs, the sinks of the trace: blocks for people, NDJSON, the trace file, and what the summary is
//	              made of
//	fields.go     the flag and the output of --watch-field
//	narrow.go     --object and --tree: the part of the trace that is shown
//	recording.go  the recording of --record: the trace, and what the API says about objects
//	telemetry.go  health, metrics and the trace over HTTP, beside the other outputs
//	result.go     how the session ended, what came of the objects, and which error that is
//	report.go     the summary, as text or as the last line of NDJSON
//	hints.go      advice for objects that are not ready, and for errors
//
// It knows nothing of clusters: what a run on one has beside a run in the sandbox is in package run.
package session
