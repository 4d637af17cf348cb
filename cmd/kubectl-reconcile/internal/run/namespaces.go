package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// scope makes -n and -A say which namespaces of a cluster a run has to do with.
func (f *Flags) scope() error {
	one, several := *f.cluster.Config.Namespace, f.write.namespaces
	switch {
	case f.write.all && (one != "" || len(several) > 0):
		return cli.WithHint(errors.New("--all-namespaces and the names of namespaces exclude each other"), "on a cluster, all namespaces are the default")
	case one != "" && len(several) > 0:
		return cli.WithHint(errors.New("-n and --namespaces exclude each other"), "-n NAME is short for --namespaces NAME")
	case strings.Contains(one, ","):
		return cli.WithHint(fmt.Errorf("-n takes one namespace, not %q", one), "--namespaces "+cli.ShellQuoted(one)+" takes several; without either it is all")
	case one != "":
		f.write.namespaces = []string{one}
	}
	return nil
}

// namespaces tells of namespaces that the run is for and that there are not: an error if it is to write, else a warning, for
// they may come. Where nobody may tell, nothing is said.
func (a *admission) namespaces(ctx context.Context, out *outputs) error {
	var errs []error
	for _, name := range a.run.part.namespaces {
		_, err := a.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			continue
		}
		text, near := fmt.Sprintf("there is no namespace %q", name), cli.Suggestion(name, a.namespaceNames(ctx), "")
		if a.run.options.Write {
			errs = append(errs, cli.WithHint(errors.New(text), near))
			continue
		}
		out.warn(text)
		cli.Hint(out.warnings, near)
	}
	return errors.Join(errs...)
}

// namespaceNames are the names of all namespaces; none if they cannot be told.
func (a *admission) namespaceNames(ctx context.Context) []string {
	list, err := a.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}
