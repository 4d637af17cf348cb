package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// errNotConfirmed is that whoever was asked did not say yes.
var errNotConfirmed = errors.New("not confirmed: nothing was written")

// confirm asks once whether to write, unless --yes has answered.
func (a *admission) confirm(ctx context.Context, o *Options) error {
	if a.run.write.yes {
		return nil
	}
	if !render.IsTerminal(o.Streams.In) {
		return cli.WithHint(errors.New("--write asks before it writes, and there is no terminal to ask on"), "--yes answers the question beforehand")
	}
	fmt.Fprint(o.Streams.ErrOut, a.question())
	answer, err := readLine(ctx, o.Streams.In)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// question names what is about to happen, to which cluster, as whom. It is safe for a terminal.
func (a *admission) question() string {
	var text strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "  %-12s %s\n", name, render.Escape(value))
		}
	}
	text.WriteString("--write: the controllers will change this cluster\n")
	line("context", a.run.connection.Context)
	line("server", a.run.connection.Config.Host)
	line("user", a.user.Username)
	line("controllers", strings.Join(shortNames(a.run.options.Controllers), ", "))
	if !a.run.part.whole() {
		line("part", a.run.part.String())
	}
	text.WriteString("write to it? [y/N] ")
	return text.String()
}

// shortNames are the controllers' names in the trace.
func shortNames(of []controllers.Controller) []string {
	var names []string
	for _, c := range of {
		names = append(names, c.Short)
	}
	return names
}

// readLine reads a line, which may take as long as somebody types.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1) // buffered: a read that hangs ends with the process
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil // no answer is one
		}
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", cli.Interruption(ctx, "before it was confirmed: nothing was written")
	}
}
