// Package runlocal runs Kubernetes' own controllers in this process, against an API server that it carries inside, and
// traces what they do. A Session ties the rooms below together: the API server (api), the controllers, the simulated
// nodes, and the tap that observes them all.
//
// It makes no text for people and reads no flags; trace events, statuses and errors come out of it.
package runlocal
