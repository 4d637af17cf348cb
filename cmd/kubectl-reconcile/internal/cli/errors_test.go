package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
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
		{"said already", errors.New("error: one"), "error: one\n", "some libraries begin so"},
		{"hostile", errors.New("no \x1b[2J\u202ename"), "error: no ^[[2J�name\n", "names come from files"},
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

func TestLoneHint(t *testing.T) {
	var out bytes.Buffer
	Hint(&out, "")
	Hint(&out, "did you mean \x1b[2J?")
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
