package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestPrintError(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	for _, tt := range []struct {
		name   string
		err    error
		want   string
		reason string
	}{
		{"one", one, "error: one\n", "one line"},
		{"joined", errors.Join(one, nil, two), "error: one\nerror: two\n", "a line for each"},
		{"joined within", errors.Join(one, errors.Join(two, errors.New("three"))), "error: one\nerror: two\nerror: three\n", "however deep"},
		{"aggregate", utilerrors.NewAggregate([]error{one, two}), "error: one\nerror: two\n", "apimachinery's lists as well"},
		{"wrapped list", fmt.Errorf("reading: %w", errors.Join(one, two)), "error: reading: one two\n", "a list with words before it is one error, on one line"},
		{"twice", errors.Join(one, two, one), "error: one\nerror: two\n", "several parts of the program may report one cause"},
		{"hint", WithHint(one, "do this"), "error: one\nhint: do this\n", "the advice follows"},
		{"hint within", fmt.Errorf("starting: %w", WithHint(one, "do this")), "error: starting: one\nhint: do this\n", "it is found however deep it is"},
		{"hints", errors.Join(WithHint(one, "do this"), WithHint(two, "do that")), "error: one\nhint: do this\nerror: two\nhint: do that\n", "each with its own"},
		{"one hint for two", errors.Join(WithHint(one, "do this"), WithHint(two, "do this")), "error: one\nhint: do this\nerror: two\n", "the same advice is given once"},
		{"lines", errors.New("one\n\n  two\tthree"), "error: one two three\n", "one error, one line"},
		{"prefixed", errors.New("error: one"), "error: one\n", "some libraries add the prefix"},
		{"hostile", errors.New("no \x1b[2J\u202ename"), "error: no ^[[2J�name\n", "names come from files"},
		{
			"digits", fmt.Errorf("cannot unmarshal number 1%s0 into replicas", strings.Repeat("23", 500_000)),
			"error: cannot unmarshal number 12323232323232323232… (1000002 digits) into replicas\n", "parsers quote what they read",
		},
		{"hostile hint", WithHint(one, "did you mean \x1b[2J?"), "error: one\nhint: did you mean ^[[2J?\n", "and from servers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			PrintError(&out, tt.err)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestEachHint(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	err := errors.Join(
		fmt.Errorf("starting: %w", WithHint(one, "do this")),
		WithExitCode(utilerrors.NewAggregate([]error{two, WithHint(two, "do that")}), 2),
		WithHint(WithHint(one, "first"), "second"),
	)
	var got []string
	EachHint(err, func(hint *string) {
		got = append(got, *hint)
		*hint += "!"
	})
	if diff := cmp.Diff([]string{"do this", "do that", "second", "first"}, got); diff != "" {
		t.Errorf("wrapped, joined, in lists and in each other (-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	PrintError(&out, err)
	if !strings.HasPrefix(out.String(), "error: starting: one\nhint: do this!\n") {
		t.Errorf("a hint that was changed is not printed:\n%s", out.String())
	}
	EachHint(nil, func(*string) { t.Error("there is no hint without an error") })
}

func TestLoneHint(t *testing.T) {
	var out bytes.Buffer
	PrintHint(&out, "")
	PrintHint(&out, "did you mean \x1b[2J?")
	if diff := cmp.Diff("hint: did you mean ^[[2J?\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithHint(t *testing.T) {
	cause := errors.New("cause")
	if WithHint(nil, "advice") != nil {
		t.Error("advice alone is an error")
	}
	if got := WithHint(cause, ""); !errors.Is(got, cause) || got.Error() != "cause" {
		t.Errorf("without advice, the error is not itself: %v", got)
	}
	if got := WithHint(cause, "advice"); !errors.Is(got, cause) || got.Error() != "cause" {
		t.Errorf("advice changes the error: %v", got)
	}
}

func TestExitCode(t *testing.T) {
	broken := fmt.Errorf("writing the summary: %w", &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE})
	for _, tt := range []struct {
		reason string
		cause  error // that the context was cancelled with; nil if it was not
		err    error
		code   int
		stderr string
	}{
		{"all is well", nil, nil, 0, ""},
		{"an error", nil, errors.New("no cluster"), 1, "error: no cluster\n"},
		{"the command reports Ctrl-C itself", context.Canceled, errors.New("interrupted"), 1, "error: interrupted\n"},
		{"a closed pipe that the command did not notice", broken, nil, BrokenPipeExitCode, ""},
		{"a closed pipe, reported by each output", broken, errors.Join(broken, WithHint(broken, "x"), context.Canceled), BrokenPipeExitCode, ""},
		{"a closed pipe and another error", broken, errors.Join(broken, errors.New("the Lease is lost")), BrokenPipeExitCode, "error: the Lease is lost\n"},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		if tt.cause != nil {
			end(tt.cause)
		}
		streams, _, _, stderr := genericiooptions.NewTestIOStreams()
		if code := ExitCode(ctx, streams, tt.err); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: code %d and stderr %q, want %d and %q", tt.reason, code, stderr, tt.code, tt.stderr)
		}
		end(nil)
	}
}
