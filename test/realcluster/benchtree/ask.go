package main

import (
	"bytes"
	"context"
	"encoding/json"
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

// ask runs each command once to warm caches up and to look at what it prints, then all of them in turns, so that a
// machine that becomes slower is so for all; and prints a row for each.
func (b *bench) ask(ctx context.Context, out io.Writer, objects int, q question) error {
	if !b.filter.MatchString(q.about) {
		return nil
	}
	fmt.Fprintf(b.notes, "%s of %d objects\n", q.about, objects)
	measured := make([][]taken, len(q.asks))
	for round := range b.rounds + 1 {
		for i, c := range q.asks {
			t, err := b.once(ctx, c)
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
		})
	}
	return nil
}

// once runs c, its output a file as if piped.
func (b *bench) once(ctx context.Context, c command) (t taken, err error) {
	result, printed := b.file("taken.json"), b.file("printed")
	stdout, err := os.Create(printed)
	if err != nil {
		return t, fmt.Errorf("making a file for what %s prints: %w", c.program, err)
	}
	defer stdout.Close() //nolint:errcheck // it is read by its name
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, b.programs[timed], append([]string{result, b.programs[c.program]}, c.args...)...)
	cmd.Stdout, cmd.Stderr = stdout, &said
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.cluster.Kubeconfig(), "HOME="+b.cluster.Dir())
	if err := cmd.Run(); err != nil {
		return t, fmt.Errorf("running %s %q: %w: %s", c.program, c.args, err, said.Bytes())
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
	fmt.Fprint(out, "| what | objects | program | wall | CPU | peak |\n|---|---|---|---|---|---|\n")
}

// row prints a line of the table.
func row(out io.Writer, objects int, about, program string, t taken) {
	fmt.Fprintf(out, "| %s | %d | %s | %.2f s | %.2f s | %d MB |\n",
		about, objects, program, t.Wall.Seconds(), t.CPU.Seconds(), t.Peak/1e6)
}
