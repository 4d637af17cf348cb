// Package telemetry serves what operators need of a running session, over HTTP: liveness and readiness (handler.go),
// metrics for Prometheus (metrics.go, findings.go), profiles, and the trace as it happens (stream.go). It reads the
// session and changes nothing. The socket, and telling people its address, are left to the caller.
package telemetry
