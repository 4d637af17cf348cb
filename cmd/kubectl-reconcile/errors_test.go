package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
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
		{"hint", withHint(one, "do this"), "error: one\nhint: do this\n", "the advice follows"},
		{"hint within", fmt.Errorf("starting: %w", withHint(one, "do this")), "error: starting: one\nhint: do this\n", "it is found however deep it is"},
		{"hints", errors.Join(withHint(one, "do this"), withHint(two, "do that")), "error: one\nhint: do this\nerror: two\nhint: do that\n", "each with its own"},
		{"one hint for two", errors.Join(withHint(one, "do this"), withHint(two, "do this")), "error: one\nhint: do this\nerror: two\n", "the same advice is given once"},
		{"lines", errors.New("one\n\n  two\tthree"), "error: one two three\n", "one error, one line"},
		{"said already", errors.New("error: one"), "error: one\n", "some libraries begin so"},
		{"hostile", errors.New("no \x1b[2J\u202ename"), "error: no ^[[2J�name\n", "names come from files"},
		{"hostile hint", withHint(one, "did you mean \x1b[2J?"), "error: one\nhint: did you mean ^[[2J?\n", "and from servers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			printError(&out, tt.err)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLoneHint(t *testing.T) {
	var out bytes.Buffer
	hint(&out, "")
	hint(&out, "did you mean \x1b[2J?")
	if diff := cmp.Diff("hint: did you mean ^[[2J?\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithHint(t *testing.T) {
	cause := errors.New("cause")
	if withHint(nil, "advice") != nil {
		t.Error("advice alone is an error")
	}
	if got := withHint(cause, ""); !errors.Is(got, cause) || got.Error() != "cause" {
		t.Errorf("without advice, the error is not itself: %v", got)
	}
	if got := withHint(cause, "advice"); !errors.Is(got, cause) || got.Error() != "cause" {
		t.Errorf("advice changes the error: %v", got)
	}
}

func TestHints(t *testing.T) {
	unknown := &runlocal.UnknownKindError{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deploymnt"}, Known: []string{"Deployment", "Pod"}}
	foreign := &runlocal.UnknownKindError{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, Known: []string{"Deployment", "Pod"}}
	taken := &net.OpError{Op: "listen", Err: &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE}}
	definition := "kinds that are no part of Kubernetes need their CustomResourceDefinition among the files"
	for _, tt := range []struct {
		name   string
		err    error
		want   []string
		reason string
	}{
		{"misspelt kind", withManifestHints(fmt.Errorf("web.yaml: %w", unknown)), []string{"did you mean Deployment? " + definition}, "the nearest kind"},
		{"foreign kind", withManifestHints(foreign), []string{definition}, "nothing is near"},
		{"among others", withManifestHints(errors.Join(errors.New("other"), unknown)), []string{"", "did you mean Deployment? " + definition}, "only for the error that it belongs to"},
		{"uncounted quota", withManifestHints(&runlocal.UncountedQuotaError{Err: context.DeadlineExceeded}),
			[]string{"-v shows what the controller does; without the quota the objects are applied"}, "what can be done about it"},
		{"taken port", withStartHints(fmt.Errorf("listening: %w", taken)), []string{"--listen 127.0.0.1:0 picks a free port"}, "what else to do"},
		{"remote", withStartHints(fmt.Errorf("listening: %w", api.ErrRemoteListen)), []string{"--allow-remote lets other machines reach it, with the token of the kubeconfig"}, "what it would take, and mean"},
		{"other", withStartHints(errors.New("other")), []string{""}, "no advice that does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range flatten(tt.err) {
				hint := &hintError{}
				if !errors.As(e, &hint) {
					hint = &hintError{}
				}
				got = append(got, hint.hint)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
	if err := withManifestHints(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	if err := withStartHints(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
}
