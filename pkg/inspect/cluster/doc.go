// Package cluster reads any API server fast: which kinds it serves, and objects of many kinds at a time, as metadata or in
// full. It reads in parallel, asks for protobuf where the server has it, and keeps nothing that it was not asked for.
//
// Partial failure is a value: a kind that may not be listed, a group whose server is down or a page that did not come is an
// Incomplete, and the rest is read. Only an API server that cannot be reached, and a context that has ended, are errors.
//
// It is not a cache, it does not judge what it reads, and it never writes.
package cluster
