package replay

import (
	"context"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// live is a recording that is read as it comes, and that ends when the context does: a read of standard input cannot be
// interrupted.
type live struct {
	replay.Recording
	done  <-chan struct{}
	reads chan read
}

type read struct {
	record *replay.Record
	err    error
}

// newLive returns a recording that ends with ctx. The goroutine that reads ends after the next record, the input, or
// the process. Seek and Rewind must not be called.
func newLive(ctx context.Context, recording replay.Recording) *live {
	l := &live{Recording: recording, done: ctx.Done(), reads: make(chan read)}
	go func() {
		for {
			record, err := recording.Next()
			select {
			case l.reads <- read{record, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// Next implements replay.Source.
func (l *live) Next() (*replay.Record, error) {
	select {
	case one := <-l.reads:
		return one.record, one.err
	case <-l.done:
		return nil, io.EOF
	}
}
