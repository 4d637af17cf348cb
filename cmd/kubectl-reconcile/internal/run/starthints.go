package run

import (
	"errors"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// withManifestHints adds what to do to each of the joined errors of objects that were refused.
func withManifestHints(err error) error {
	if err == nil {
		return nil
	}
	errs := cli.Flatten(err)
	for i, e := range errs {
		if strings.Contains(e.Error(), `: namespaces "`) && apierrors.IsNotFound(e) {
			errs[i] = cli.WithHint(e, "-n NAME creates the namespace, or put it among the files")
		}
		if unknown := (*runlocal.UnknownKindError)(nil); errors.As(e, &unknown) {
			errs[i] = cli.WithHint(e, cli.Suggestion(unknown.Kind.Kind, unknown.Known, "kinds that are no part of Kubernetes need their CustomResourceDefinition among the files"))
		}
		if uncounted := (*runlocal.UncountedQuotaError)(nil); errors.As(e, &uncounted) {
			errs[i] = cli.WithHint(e, "-v shows what the controller does; without the quota the objects are applied")
		}
	}
	return errors.Join(errs...)
}

// withStartHints adds what to do to each of the joined errors of a session that did not start.
func withStartHints(err error) error {
	errs := cli.Flatten(err)
	for i := range errs {
		errs[i] = withStartHint(errs[i])
	}
	return errors.Join(errs...)
}

func withStartHint(err error) error {
	switch unknown := (*api.UnknownPluginError)(nil); {
	case errors.As(err, &unknown):
		return cli.WithHint(err, cli.Suggestion(unknown.Name, unknown.Known, "admission plugins are named as kube-apiserver names them"))
	case errors.Is(err, api.ErrRemoteListen):
		return cli.WithHint(err, "--allow-remote lets other machines reach it, with the token of the kubeconfig")
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.WithHint(err, "--listen 127.0.0.1:0 picks a free port")
	}
	return err
}
