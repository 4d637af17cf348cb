package moment

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Input is what the files of --from have.
type Input struct {
	replay.Recording
	// Name is what errors call it: the files.
	Name string

	close func() error
}

// OpenFiles opens files as one recording; - is stdin.
func OpenFiles(ctx context.Context, streams genericiooptions.IOStreams, files []string) (*Input, error) {
	recording, closeFiles, err := input.Open(ctx, streams, files)
	if err != nil {
		return nil, err
	}
	return &Input{Recording: recording, Name: named(files), close: closeFiles}, nil
}

// Close closes the files.
func (i *Input) Close() error {
	if i.close == nil {
		return nil
	}
	return i.close()
}

// closeAfter closes an input after something that has ended with an error or with nil.
func closeAfter(i *Input, err error) error {
	if closed := i.Close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("closing %s: %w", i.Name, closed))
	}
	return err
}

// At returns the moment that a value of --at names, the end if it is empty, and what was known then.
func (i *Input) At(text string) (replay.Moment, *replay.State, error) {
	info, err := i.Info()
	if err != nil {
		return replay.Moment{}, nil, fmt.Errorf("reading %s: %w", i.Name, err)
	}
	var state *replay.State
	m, err := input.Moment(text, info)
	if err == nil {
		state, err = i.Seek(m)
	}
	outside, unknown := (*replay.OutsideError)(nil), (*replay.MomentError)(nil)
	switch {
	case errors.As(err, &outside):
		return m, nil, input.MomentError(fmt.Errorf("%s: %w", i.Name, outside))
	case errors.As(err, &unknown):
		return m, nil, err
	case err != nil:
		return m, nil, fmt.Errorf("reading %s: %w", i.Name, err)
	}
	return m, state, nil
}
