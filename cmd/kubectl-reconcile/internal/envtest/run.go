package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// The names under which this program answers.
const (
	apiServerName = "kube-apiserver"
	etcdName      = "etcd"
	kubectlName   = "kubectl"
)

// Run runs the program of that name, until ctx ends, and returns its exit code; ok is false if it is none of them.
func Run(ctx context.Context, name string, args []string, streams genericiooptions.IOStreams,
	getenv func(string) string) (code int, ok bool) {
	switch name {
	case apiServerName:
		return exitCode(streams.ErrOut, runAPIServer(ctx, args, streams, getenv)), true
	case etcdName:
		return exitCode(streams.ErrOut, runEtcd(ctx, args, streams)), true
	case kubectlName:
		return exitCode(streams.ErrOut, errNoKubectl), true
	}
	return 0, false
}

// errNoKubectl is the error of the link kubectl of a folder that was made while no kubectl was on PATH.
var errNoKubectl = cli.WithHint(
	errors.New("no kubectl was on PATH when `kubectl reconcile envtest-assets` made this folder"),
	"install kubectl, and run it again")

// exitError is an error that ends the program with an exit code other than 1.
type exitError struct {
	error
	code int
}

// exitCode writes an error as kube-apiserver does, with its hint on the same line, and returns the exit code: the
// output is part of a test's log.
func exitCode(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	for _, e := range cli.FlattenErrors(err) {
		text := cli.OneLine(e.Error())
		if h := (*cli.HintError)(nil); errors.As(e, &h) {
			text += "; " + cli.OneLine(h.Hint)
		}
		_, _ = fmt.Fprintln(w, "Error: "+strings.TrimSpace(text))
	}
	if e := (*exitError)(nil); errors.As(err, &e) {
		return e.code
	}
	return 1
}
