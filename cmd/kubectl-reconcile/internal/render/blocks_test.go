package render

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// began is when the traces of these tests begin.
func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// shown is what Blocks writes of the events, which are a millisecond apart, up to Close.
func shown(t *testing.T, o BlocksOptions, events ...*trace.Event) string {
	t.Helper()
	var out bytes.Buffer
	blocks := NewBlocks(&out, o)
	blocks.StartAt(began())
	record(blocks, events...)
	if err := blocks.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func record(blocks *Blocks, events ...*trace.Event) {
	for i, e := range events {
		timed := *e
		timed.Seq, timed.Time = uint64(i)+1, began().Add(time.Duration(i+1)*time.Millisecond)
		blocks.Record(&timed)
	}
}

// of1 is an event of reconcile 1 of the Deployment web; ofNone of none.
func of1(d trace.Detail) *trace.Event {
	return &trace.Event{Controller: "deployment", Reconcile: 1, Key: "default/web", Detail: d}
}

func ofNone(controller string, d trace.Detail) *trace.Event {
	return &trace.Event{Controller: controller, Detail: d}
}

// golden compares text with a file of testdata, or writes the file if -update is given.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

func TestBlocksDetail(t *testing.T) {
	coloured := NewPalette(&bytes.Buffer{}, ColorAlways, os.Getenv)
	for _, tt := range []struct {
		name   string
		o      BlocksOptions
		reason string
	}{
		{"quiet", BlocksOptions{Detail: Quiet, Events: true}, "nothing is shown, not even Events"},
		{"normal", BlocksOptions{Detail: Normal, Aside: []string{"kubelet"}}, "causes, decisions, writes, outcomes"},
		{"events", BlocksOptions{Detail: Normal, Aside: []string{"kubelet"}, Events: true}, "and what controllers record"},
		{"verbose", BlocksOptions{Detail: Verbose, Aside: []string{"kubelet"}}, "and reads, log lines up to 4, the controllers aside, all names and fields"},
		{"everything", BlocksOptions{Detail: Everything}, "and all log lines"},
		{"narrow", BlocksOptions{Detail: Normal, Aside: []string{"kubelet"}, Width: 80}, "lines are broken between words and indented"},
		{"coloured", BlocksOptions{Detail: Normal, Aside: []string{"kubelet"}, Palette: coloured}, "red for trouble, yellow for change, dim for what is seldom read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Log(tt.reason)
			golden(t, tt.name, shown(t, tt.o, story()...))
		})
	}
}

func TestBlocksDoNotMix(t *testing.T) {
	other := func(d trace.Detail) *trace.Event {
		return &trace.Event{Controller: "replicaset", Reconcile: 2, Key: "default/web-1", Detail: d}
	}
	got := shown(t, BlocksOptions{Detail: Normal},
		of1(&trace.Start{}), other(&trace.Start{}),
		of1(&trace.Log{Message: "of the first"}), other(&trace.Log{Message: "of the second"}),
		other(&trace.End{Outcome: trace.Done, Writes: 1}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	want := `
+0.005s  replicaset  default/web-1  #2
  because  its cause was not seen
  decided  of the second
  done     1 write, 0s

+0.006s  deployment  default/web  #1
  because  its cause was not seen
  decided  of the first
  done     1 write, 0s
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each reconcile is told whole, when it ends, with the time of that (-want +got):\n%s", diff)
	}
}

func TestBlocksClose(t *testing.T) {
	second := &trace.Event{Controller: "replicaset", Reconcile: 2, Key: "default/web-1", Detail: &trace.Start{}}
	got := shown(t, BlocksOptions{Detail: Normal},
		of1(&trace.Start{}), second, of1(&trace.Log{Message: "begun"}))
	want := `
+0.003s  deployment  default/web  #1
  because  its cause was not seen
  decided  begun
  cut off  the session ended before this reconcile did

+0.003s  replicaset  default/web-1  #2
  because  its cause was not seen
  cut off  the session ended before this reconcile did
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what has not ended is shown at the end, in the order of its start (-want +got):\n%s", diff)
	}
}

func TestBlocksCloseTwice(t *testing.T) {
	var out bytes.Buffer
	blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}))
	for range 2 {
		if err := blocks.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "cut off"); n != 1 {
		t.Errorf("an unfinished reconcile is shown %d times:\n%s", n, out.String())
	}
}

func TestBlocksErrors(t *testing.T) {
	blocks := NewBlocks(&brokenWriter{}, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	if err := blocks.Close(); !errors.Is(err, errBroken) {
		t.Errorf("a failed write is not told at the end: %v", err)
	}
}

func TestBlocksStartAt(t *testing.T) {
	var out bytes.Buffer
	blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
	record(blocks, of1(&trace.Start{}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
	if !strings.HasPrefix(out.String(), "\n+0.000s  ") {
		t.Errorf("without a start, the first block is where counting begins:\n%s", out.String())
	}
}

func TestLogLevel(t *testing.T) {
	last := -1
	for _, d := range []Detail{Quiet, Normal, Verbose, Everything, Everything + 1} {
		if d.LogLevel() < last {
			t.Errorf("detail %d shows less than the one before it: level %d after %d", d, d.LogLevel(), last)
		}
		last = d.LogLevel()
	}
}
