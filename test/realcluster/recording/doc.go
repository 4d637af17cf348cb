// Package recording tests recordings of a real control plane.
//
// killed_test.go kills the recorder, or the API server that it records: it compares what is recorded with what clients
// were answered, and with the audit log. recording_test.go has the recorder and a client that writes. served_test.go
// asks kubectl the same of a cluster and of its recording. scenarios_test.go runs controllers on recordings of the
// scenarios of ../scenarios and of the changes of ../plans, sandbox_test.go on those of the sandbox.
//
// The environment variable RECORDING_LONG makes the tests do more, which takes some minutes.
package recording
