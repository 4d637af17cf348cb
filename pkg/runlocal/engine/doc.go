// Package engine runs reconcilers: watch events are mapped to keys, keys wait in a deduplicating, rate-limited queue, and
// workers hand them to a Reconciler, with retries, backoff and an orderly stop.
//
// It is a small loop for controllers of one's own that shall be traced like upstream's: its queue can be wrapped, and its
// context replaced, by whoever observes it (see Observer). It is not a manager: it makes no informers and no clients, elects no
// leader and serves nothing. Time comes from a clock that is handed in.
package engine
