package record

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// parse parses a command line up to what needs a cluster.
func parse(t *testing.T, args ...string) (request, []string, error) {
	t.Helper()
	f := &Flags{cluster: connect.NewFlags()}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	root, cmd := &cobra.Command{}, &cobra.Command{Use: "record"}
	root.AddCommand(cmd)
	f.addTo(cmd)
	var what request
	var given []string
	var err error
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if _, err = f.outputOptions(streams); err != nil {
			return nil //nolint:nilerr // the test returns it
		}
		what, err = f.request(args)
		redaction, redactErr := f.redact.ToRedaction()
		if redactErr != nil {
			t.Error(redactErr)
		}
		given = f.given(args, &redaction)
		return nil
	}
	root.SetArgs(append([]string{"record"}, args...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return what, given, err
}

func TestRequests(t *testing.T) {
	for _, row := range []struct {
		reason string
		args   []string
		named  []named
		fails  string
	}{
		{"the default", nil, nil, ""},
		{"types, apart and with commas, once each", []string{"pods", "svc,deploy", "pods"}, []named{{"pods", ""}, {"svc", ""}, {"deploy", ""}}, ""},
		{"an object", []string{"deploy/web"}, []named{{"deploy", "web"}}, ""},
		{"an empty type", []string{"pods,"}, nil, "a type is empty"},
		{"no name", []string{"pods/"}, nil, "must be TYPE or TYPE/NAME"},
		{"two slashes", []string{"pods/a/b"}, nil, "must be TYPE or TYPE/NAME"},
		{"an object by labels", []string{"pods/a", "-l", "x=y"}, nil, "a name cannot be given"},
	} {
		what, _, err := parse(t, append([]string{"-o", "x"}, row.args...)...)
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got %v", row.reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
		}
		if diff := cmp.Diff(row.named, what.named, cmp.AllowUnexported(named{})); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
	}
}

// TestGiven: the header has what was asked for, and nothing that is to be hidden.
func TestGiven(t *testing.T) {
	_, given, err := parse(t, "-o", "x", "--force", "-A", "--redact", "/hunter2/", "--redact", "cm:data", "--server", "https://private", "pods")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--all-namespaces=true", "--redact=/…/", "--redact=cm:data", "pods"}, given); diff != "" {
		t.Error(diff)
	}
}

func TestLiveLine(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Unix(100, 0))
	r := &recording{Options: &Options{clock: clock}, out: &output{}, began: clock.Now()}
	out := &sink{}
	var err error
	if r.recorder, err = recorder.New(recorder.Options{Sink: out, Clock: clock}); err != nil {
		t.Fatal(err)
	}
	r.selections = make([]recorder.Selection, 2)
	if got, want := r.progressLine()(t.Context()), "reading: 0 of 2 kinds"; got != want {
		t.Errorf("where there is no terminal it says %q, want %q", got, want)
	}
	r.terminal = true
	line := r.progressLine()
	clock.Step(61 * time.Second)
	r.out.total.Store(3 << 20)
	if diff := cmp.Diff("1m1s: 0 events (0/s), 0 objects, 3 MiB, 0 dropped, 0 gaps", line(t.Context())); diff != "" {
		t.Error(diff)
	}
	if err := r.recorder.Trace([]byte(`{}`)); err != nil || !slices.Contains(out.types, replay.TypeTrace) {
		t.Errorf("the recorder does not write to its sink: %v", err)
	}
}

// sink remembers the types of records.
type sink struct{ types []replay.Type }

// Write implements replay.Sink.
func (s *sink) Write(r *replay.Record) error {
	s.types = append(s.types, r.Type)
	return nil
}
