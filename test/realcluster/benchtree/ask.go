package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/figures"
)

// taken is what one run of a command took, as the program timed tells it.
type taken struct {
	Wall, CPU time.Duration
	Peak      int64
}

// ask runs each command twice to fill caches and to count its requests, with what it read; then, after another round
// to fill caches, all of them in turns, so that a machine that becomes slower is so for all; and prints a row for each.
func (b *bench) ask(ctx context.Context, out io.Writer, objects int, q question) error {
	if !b.filter.MatchString(q.about) {
		return nil
	}
	fmt.Fprintf(b.notes, "%s of %d objects\n", q.about, objects)
	read := make([]traffic, len(q.asks))
	for range 2 {
		for i, c := range q.asks {
			before := b.counter.traffic()
			if _, err := b.once(ctx, c, b.counter.kubeconfig); err != nil {
				return err
			}
			read[i] = b.counter.traffic().since(before)
		}
	}
	measured := make([][]taken, len(q.asks))
	for round := range b.rounds + 1 {
		for i, c := range q.asks {
			t, err := b.once(ctx, c, b.cluster.Kubeconfig())
			if err != nil {
				return err
			}
			if round > 0 {
				measured[i] = append(measured[i], t)
			}
		}
	}
	for i, c := range q.asks {
		row(out, objects, q.about, c.program, taken{
			Wall: figures.Median(measured[i], func(t taken) time.Duration { return t.Wall }),
			CPU:  figures.Median(measured[i], func(t taken) time.Duration { return t.CPU }),
			Peak: figures.Median(measured[i], func(t taken) int64 { return t.Peak }),
		}, read[i])
	}
	return nil
}

// once runs c, its output a file as if piped. It must end with the exit code that it is to end with.
func (b *bench) once(ctx context.Context, c command, kubeconfig string) (t taken, err error) {
	result, printed := b.file("taken.json"), b.file("printed")
	stdout, err := os.Create(printed)
	if err != nil {
		return t, fmt.Errorf("making a file for what %s prints: %w", c.program, err)
	}
	defer stdout.Close() //nolint:errcheck // it is read by its name
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.programs[timed], append([]string{result, b.programs[c.program]}, c.args...)...)
	cmd.Stdout, cmd.Stderr = stdout, &said
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+b.cluster.Dir())
	cmd.Dir = b.cluster.Dir() // where the files of commands are
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return t, fmt.Errorf("running %s %q: %w", c.program, c.args, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != c.exit {
		return t, fmt.Errorf("%s %q ended with %d, not %d: %s", c.program, c.args, code, c.exit, said.Bytes())
	}
	text, err := os.ReadFile(printed)
	if err != nil {
		return t, fmt.Errorf("reading what %s printed: %w", c.program, err)
	}
	for _, want := range c.want {
		if !bytes.Contains(text, []byte(want)) {
			return t, fmt.Errorf("%s %q did not print %q but %.2000s%s", c.program, c.args, want, text, said.Bytes())
		}
	}
	data, err := os.ReadFile(result)
	if err != nil {
		return t, fmt.Errorf("reading what %s took: %w", c.program, err)
	}
	return t, json.Unmarshal(data, &t)
}

func header(out io.Writer) {
	fmt.Fprint(out, "| what | objects | program | wall | CPU | peak | requests | read |\n"+
		"|---|---|---|---|---|---|---|---|\n")
}

// row prints a line of the table.
func row(out io.Writer, objects int, about, program string, t taken, read traffic) {
	fmt.Fprintf(out, "| %s | %d | %s | %.2f s | %.2f s | %d MB | %d | %.2f MB |\n",
		about, objects, program, t.Wall.Seconds(), t.CPU.Seconds(), t.Peak/1e6, read.requests, float64(read.bytes)/1e6)
}
