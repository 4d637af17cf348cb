package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

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
			for _, e := range cli.Flatten(tt.err) {
				hint := &cli.HintError{}
				if !errors.As(e, &hint) {
					hint = &cli.HintError{}
				}
				got = append(got, hint.Hint)
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
