// Package sandbox is the command `sandbox`: it serves an API server in memory, with controllers and simulated nodes, to other
// programs. How a session runs and what it prints is in package session.
package sandbox
