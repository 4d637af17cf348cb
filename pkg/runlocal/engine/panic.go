package engine

import "fmt"

// panicError is a panic of a reconciler, with the stack of its goroutine.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
