// Package tap observes controllers that know nothing of it: what reaches them through informers, which keys they queue
// and why, what they log, what they ask of the API and how each reconcile ends. It emits package trace's events and
// keeps the account that reports whether a session has settled.
//
// Everything that touches private parts of upstream or of the Go runtime lives here, each part behind a test that fails
// when it moves. The tap changes nothing that a controller does: it neither reorders nor drops, and delays only for as
// long as a sink of the recorder takes. Two things are for controllers that would destroy what they do not see: Gate keeps
// keys from their workers, and SwapOrderedRelay orders what several informers show.
package tap
