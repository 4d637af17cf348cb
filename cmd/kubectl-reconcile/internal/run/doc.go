// Package run is the command `run`: it runs Kubernetes' own controllers in this process, against a cluster or in the sandbox, and
// prints their reconciles. Package sandbox shares its options, since serving a sandbox is a run without an end.
package run
