package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// pagerCommand returns the command line of the pager as git finds it: of the variable of this program, of PAGER, or
// less; empty for none.
func pagerCommand(getenv func(string) string) string {
	command := cmp.Or(getenv("KUBECTL_RECONCILE_PAGER"), getenv("PAGER"), "less")
	if command == "cat" || getenv("TERM") == "dumb" {
		return ""
	}
	return command
}

// errPagerEnded is the error of a write to a pager that its user has ended: all is well then.
var errPagerEnded = errors.New("the pager has ended")

// paged is a writer that gives its text to a pager once it is longer than the screen. It must be closed, and must not
// be used concurrently.
type paged struct {
	streams genericiooptions.IOStreams
	command string // empty for no pager
	height  int    // lines of the screen
	start   func(command string) (*exec.Cmd, io.WriteCloser, error)

	kept  bytes.Buffer // what was written, while there is no pager
	lines int
	to    io.WriteCloser // of the pager; nil if it does not run
	cmd   *exec.Cmd
}

// pagedOutput returns the writer of the timeline.
func (o *Options) pagedOutput(ctx context.Context) *paged {
	p := &paged{streams: o.streams, start: func(command string) (*exec.Cmd, io.WriteCloser, error) {
		return startPager(ctx, o.streams, command)
	}}
	if o.isPaged && o.height > 0 && !o.isLive() {
		p.command, p.height = o.pager, o.height
	}
	return p
}

// startPager starts the command by a shell, as git does. It reads keys from the terminal itself.
func startPager(
	ctx context.Context, streams genericiooptions.IOStreams, command string,
) (*exec.Cmd, io.WriteCloser, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the user names the program
	// Ctrl-C is a key of the pager, which owns the terminal: it must not be killed.
	cmd.Cancel = func() error { return nil }
	cmd.Stdout, cmd.Stderr = streams.Out, streams.ErrOut
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // colours, and no screen of its own for little text
	}
	to, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	return cmd, to, err
}

// Write implements io.Writer.
func (p *paged) Write(text []byte) (int, error) {
	switch {
	case p.to != nil:
		return p.toPager(text)
	case p.command == "":
		return p.streams.Out.Write(text)
	}
	_, _ = p.kept.Write(text) // it never fails
	p.lines += bytes.Count(text, []byte("\n"))
	if p.lines < p.height {
		return len(text), nil
	}
	cmd, to, err := p.start(p.command)
	if err != nil {
		p.command = "" // without a pager all is written as it is
		return len(text), p.flush(p.streams.Out)
	}
	p.cmd, p.to = cmd, to
	return len(text), p.flush(writerFunc(p.toPager))
}

func (p *paged) flush(to io.Writer) error {
	_, err := p.kept.WriteTo(to)
	return err
}

func (p *paged) toPager(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if err != nil {
		err = errPagerEnded
	}
	return n, err
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// Close writes what was kept, and waits until the user has ended the pager.
func (p *paged) Close() error {
	if p.to == nil {
		return p.flush(p.streams.Out)
	}
	_ = p.to.Close() // it fails if the pager has ended
	if err := p.cmd.Wait(); err != nil {
		if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
			return nil // how a pager ends is the user's business
		}
		return fmt.Errorf("running the pager %q: %w", p.command, err)
	}
	return nil
}
