package moment

import (
	"errors"
	"fmt"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
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
func OpenFiles(streams genericiooptions.IOStreams, files []string) (*Input, error) {
	recording, closeFiles, err := input.Open(streams, files)
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

// StateAt returns what was known at a moment.
func (i *Input) StateAt(m replay.Moment) (*replay.State, error) {
	state, err := i.Seek(m)
	if outside := (*replay.OutsideError)(nil); errors.As(err, &outside) {
		return nil, cli.WithHint(fmt.Errorf("%s: %w", i.Name, err), atHint)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", i.Name, err)
	}
	return state, nil
}
