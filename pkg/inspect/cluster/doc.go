// Package cluster reads any API server fast: which kinds it serves, and objects of many kinds at a time, as metadata or
// in full. It reads in parallel, requests protobuf where the server has it, and decodes only what its callers need.
// [Discover] returns the kinds, [NewReader] a [Reader] of objects.
//
// Partial failure is a value: a kind that the user may not list, a group whose server is down or a page that did not
// arrive is an Incomplete, and the rest is read. Only an API server that cannot be reached, and a context that has
// ended, are errors.
//
// It is not a cache, it does not determine the status of what it reads, and it never writes.
//
// How the files divide the work: discover.go and kinds.go find the kinds and resolve names; builtin.go has what is
// known of kinds without a server; reader.go sends requests and pages through lists; metadata.go, objects.go and
// json.go decode answers, by protobuf.go, which reads a list as a stream of objects, and prune.go, which removes large
// fields before they are decoded. follow.go watches; progress.go counts; incomplete.go describes what could not be
// read.
package cluster
