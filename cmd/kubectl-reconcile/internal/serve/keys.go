package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/keys"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// keysText names the keys.
const keysText = "space plays and pauses, + and - change the speed, arrows move by 10s and 1m, . and , by a record, " +
	"a number and Enter to it, q ends"

// wait shows the time on a terminal, where keys steer it, until ctx ends or its user does.
func wait(ctx context.Context, streams genericiooptions.IOStreams, server *playback.Server) {
	progress, shown := cli.WithProgress(streams, true)
	out := shown.ErrOut
	var pressed <-chan keys.Press
	if terminal := keys.Open(streams, false); terminal != nil {
		defer terminal.Close()
		pressed, out = terminal.Keys, keys.RawWriter{Out: out}
		fmt.Fprintln(out, keysText)
	}
	end := progress.Show(ctx, func(context.Context) string { return statusText(server.Status()) })
	defer end()
	for {
		select {
		case <-ctx.Done():
			return
		case key, ok := <-pressed:
			if !ok {
				pressed = nil // the terminal is gone: a signal follows, or none does
				continue
			}
			if key.Name == keys.Quit {
				return
			}
			text := statusText(server.Status())
			if err := press(ctx, server, key); err != nil {
				text = cli.OneLine(err.Error())
			} else if after := statusText(server.Status()); after != text {
				text = after
			}
			fmt.Fprintln(out, render.Escape(text))
		}
	}
}

// steered is what keys steer.
type steered interface {
	Status() playback.Status
	Play() error
	Pause()
	SetSpeed(speed float64) error
	Step(ctx context.Context, n int) error
	Seek(ctx context.Context, moment replay.Moment) error
}

var _ steered = (*playback.Server)(nil)

// press does what a key asks for.
func press(ctx context.Context, server steered, key keys.Press) error {
	status := server.Status()
	switch key.Name {
	case keys.Pause:
		if !status.Playing {
			return server.Play()
		}
		server.Pause()
	case keys.Faster:
		return server.SetSpeed(status.Speed * 2)
	case keys.Slower:
		return server.SetSpeed(status.Speed / 2)
	case keys.Move:
		return move(ctx, server, status, key.By)
	case keys.Step:
		if key.Number > 0 {
			return server.Step(ctx, int(key.Number))
		}
		return seekNumber(ctx, server, status, status.Number+key.Number)
	case keys.Number:
		return seekNumber(ctx, server, status, key.Number)
	case keys.Quit:
	}
	return nil
}

// move goes on or back by a time, no further than to the first or the last record.
func move(ctx context.Context, server steered, status playback.Status, by time.Duration) error {
	if status.Time.IsZero() {
		return errors.New("there are no times to move by: . and , move by a record")
	}
	to := status.Time.Add(by)
	switch {
	case to.Before(status.First):
		to = status.First
	case to.After(status.Last):
		to = status.Last
	}
	return server.Seek(ctx, replay.Moment{Time: to})
}

// seekNumber goes to a record, or to the first or last one.
func seekNumber(ctx context.Context, server steered, status playback.Status, number int64) error {
	return server.Seek(ctx, replay.Moment{Number: min(max(number, 1), status.Records)})
}
