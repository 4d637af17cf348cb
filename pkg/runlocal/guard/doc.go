// Package guard stands between clients of a cluster and its API server, and lets nothing through that would change the
// cluster. It works on HTTP requests, below every client, so that nothing gets past it: not Events, not Leases, not what a
// library does on its own.
//
// It is no access control: who holds other credentials or another transport is not kept from anything.
package guard
