// Package peers pins other programs that draw owner trees, to measure `kubectl reconcile tree` beside them. It is a module
// of its own, so that nothing else depends on theirs.
package peers
