package moment

import (
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
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
func OpenFiles(stdin io.Reader, files []string) (*Input, error) {
	return nil, fmt.Errorf("opening %s: not yet", named(files))
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

// StateAt returns what was known at a moment.
func (i *Input) StateAt(m replay.Moment) (*replay.State, error) {
	state, err := i.Seek(m)
	if outside := (*replay.OutsideError)(nil); errors.As(err, &outside) {
		return nil, cli.WithHint(fmt.Errorf("%s: %w", i.Name, err),
			"--at takes a time, +90s after the beginning, -2m before the end, #n for record n, a resourceVersion, "+
				"start and end")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", i.Name, err)
	}
	return state, nil
}
