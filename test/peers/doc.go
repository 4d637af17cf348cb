// Package peers pins other programs that draw owner trees, to measure `kubectl reconcile tree` beside them. It is a
// separate module, so that nothing else depends on theirs.
package peers
