// Package imports reads what other tools wrote as the records of a recording: watch events as kubectl prints them or as
// an API server sends them, objects printed one after the other, lists and manifests, and audit logs. Which of these an
// input is, its first document says. [Open] returns a [Source], which can be read once, in order: by timeline.New, or
// into a replay.Writer, which makes a recording of it. It does not open recordings: replay.OpenFile does.
//
// imports.go recognises the form and is the Source, documents.go finds the documents of JSON and YAML in an input,
// compressed.go reads what is compressed, streams.go makes streams of kinds. watch.go, objects.go, manifests.go and
// audit.go make the records of one form each; auditentry.go finds what an entry of an audit log changed, and reorder.go
// puts these changes in order.
package imports
