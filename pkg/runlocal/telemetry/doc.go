// Package telemetry lets a running session be operated from outside: whether it lives and is ready, figures for Prometheus,
// profiles, and its trace while it happens, all over HTTP. It reads what the session tells and changes nothing. What is served
// to people, and how to find the address, is the caller's.
package telemetry
