package connect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

var recordedTime = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// flagsOf returns flags as a command line has set them, whose recordings are opened by open.
func flagsOf(t *testing.T, open RecordingOpener, args ...string) *Flags {
	t.Helper()
	f := NewFlags()
	cmd := &cobra.Command{Use: "tree"}
	cmd.SetContext(t.Context())
	f.AddTo(cmd)
	f.AddRecordingFlags(cmd, open, nil)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRecordingFlags: which flags go with --from.
func TestRecordingFlags(t *testing.T) {
	open := func(context.Context, genericiooptions.IOStreams, []string, string) (*Recording, error) {
		return &Recording{Config: &rest.Config{}, Namespace: "shop", Time: recordedTime, Close: func() error { return nil }}, nil
	}
	for _, row := range []struct {
		reason string
		args   []string
		want   string // of the error and its hint; empty for none
	}{
		{"a recording", []string{"--from", "a.rec"}, ""},
		{"a moment of two", []string{"--from", "a.rec", "--from", "b.rec", "--at", "+90s"}, ""},
		{"its namespace", []string{"--from", "a.rec", "-n", "other"}, ""},
		{"a moment of nothing", []string{"--at", "+90s"}, "--at is a moment of a recording"},
		{"a recording is no cluster", []string{"--from", "a.rec", "--context", "prod"}, "--from and --context exclude each other"},
		{"nor has it users", []string{"--from", "a.rec", "--as", "jane"}, "--from and --as exclude each other"},
	} {
		c, err := flagsOf(t, open, row.args...).Connect(genericiooptions.NewTestIOStreamsDiscard())
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.reason, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v, want %s", row.reason, err, row.want)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: closing: %v", row.reason, err)
		}
	}
}

// TestRecordingInPlaceOfCluster: what a command gets of a recording, and that errors speak of it.
func TestRecordingInPlaceOfCluster(t *testing.T) {
	closed := 0
	open := func(_ context.Context, _ genericiooptions.IOStreams, files []string, at string) (*Recording, error) {
		return &Recording{
			Config: &rest.Config{Host: "https://in-process"}, Name: files[0], Moment: "as of " + at, Time: recordedTime,
			Namespace: "shop", Notes: []string{"incomplete: \x1b[31mred"}, Recorded: []string{"pods", "services"},
			Close: func() error { closed++; return nil },
		}, nil
	}
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	f := flagsOf(t, open, "--from", "two words.rec", "--at", "-2m")
	c, err := f.Connect(streams)
	if err != nil {
		t.Fatal(err)
	}
	if text := errOut.String(); !strings.HasPrefix(text, "as of -2m\nincomplete: ") || strings.Contains(text, "\x1b") {
		t.Errorf("it said %q", text)
	}
	if c.Namespace != "shop" || c.Config.QPS != -1 {
		t.Errorf("namespace %q, %v requests a second", c.Namespace, c.Config.QPS)
	}
	if now := c.Clock().Now(); !now.Equal(recordedTime) || c.Clock().Since(recordedTime.Add(-time.Hour)) != time.Hour {
		t.Errorf("its time is %s", now)
	}
	if want := " --from 'two words.rec' --at -2m"; f.Args() != want || c.RecordingArgs() != want {
		t.Errorf("other commands get %q", f.Args())
	}
	pods := cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Kind: "Pod"}, Resource: "pods", Namespaced: true}
	secrets := cluster.Kind{Resource: "secrets", Namespaced: true}
	for _, row := range []struct {
		reason, want, hint string
		err                error
	}{
		{"an unknown kind", `no kind "pots" is known in two words.rec`, "did you mean pods?",
			c.Explain(&cluster.UnknownKindError{Name: "pots", Known: []string{"pods"}})},
		{"a kind that was not recorded", `secrets in namespace "shop" were not recorded`, "recorded are pods, services",
			c.ForbiddenError([]Target{NewTarget(secrets, "shop", "")}, false)},
		{"an object of a kind that was", `pod "a" in namespace "shop" is not in two words.rec`, "it may have existed",
			c.ForbiddenError([]Target{NewTarget(pods, "shop", "a")}, false)},
	} {
		hint := (*cli.HintError)(nil)
		if !errors.As(row.err, &hint) || row.err.Error() != row.want || !strings.Contains(hint.Hint, row.hint) {
			t.Errorf("%s: %v (%v), want %s", row.reason, row.err, hint, row.want)
		}
	}
	if err := f.RefuseWatch(true); err == nil || f.RefuseWatch(false) != nil {
		t.Errorf("--watch: %v", err)
	}
	if err := c.Close(); err != nil || closed != 1 {
		t.Errorf("closed %d times: %v", closed, err)
	}
}
