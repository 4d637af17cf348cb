// Package exports writes recordings for other tools: as the watch events that kubectl prints, as an audit log, and the
// state at a moment as manifests. [Write] writes what a source has from where it is, [WriteManifests] a state that Seek
// of a recording returned.
//
// exports.go has the formats, watch.go, audit.go and manifests.go write one each; clean.go makes manifests that can be
// applied, and writer.go finds who made a change.
package exports
