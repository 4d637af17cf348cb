package replay

import (
	"context"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// live is a recording that is read as it comes: that its user ends it is its end.
type live struct {
	replay.Recording
	ctx context.Context
}

// Next implements replay.Source.
func (l live) Next() (*replay.Record, error) {
	r, err := l.Recording.Next()
	if l.ctx.Err() != nil {
		return nil, io.EOF
	}
	return r, err
}
