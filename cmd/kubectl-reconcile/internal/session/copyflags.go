package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// CopyFlags say whether a sandbox begins with a copy of a part of a cluster, and how it is made.
type CopyFlags struct {
	FromCluster bool
	MaxObjects  int
	WithSecrets bool
	Assume      nodes.Assumption
}

// fromClusterFlag is the flag that the others of CopyFlags need.
const fromClusterFlag = "from-cluster"

// AddTo adds the flags to a command.
func (f *CopyFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.FromCluster, fromClusterFlag, false,
		"begin the sandbox with a copy of a part of your cluster: the namespace of -n, all with -A, or those of the "+
			"objects that are named as TYPE/NAME; the cluster is only read")
	flags.IntVar(&f.MaxObjects, "max-objects", seed.DefaultMaxObjects,
		"with --from-cluster, give up on a part of the cluster with more objects than this; 0 copies any number")
	flags.BoolVar(&f.WithSecrets, "with-secrets", false, "with --from-cluster, copy the data of Secrets too")
	flags.Var(&f.Assume, "assume",
		"with --from-cluster, what becomes of new pods: ready (as soon as they have a node) or pending (for good); "+
			"by default they behave as on simulated nodes")
	cli.CompleteWords(cmd, "assume", string(nodes.AssumeReady), string(nodes.AssumePending))
}

// Complete completes the arguments of a command: objects whose namespaces are copied.
func (f *CopyFlags) Complete(cmd *cobra.Command, from *connect.Flags) {
	targets := from.OfferTargets()
	cmd.ValidArgsFunction = cli.Completion(func(ctx context.Context, args []string, typed string) []string {
		if !f.FromCluster {
			return nil // there are no arguments
		}
		return targets(ctx, args, typed)
	})
}

// Validate returns an error for flags that make no sense together. args are the command's.
func (f *CopyFlags) Validate(flags *pflag.FlagSet, args []string) error {
	if !f.FromCluster {
		for _, name := range []string{"max-objects", "with-secrets", "assume"} {
			if flags.Changed(name) {
				return cli.WithHint(fmt.Errorf("--%s needs --%s", name, fromClusterFlag),
					"without it the sandbox begins empty")
			}
		}
		if len(args) > 0 {
			return cli.WithHint(cli.UnknownError("argument", args[0]),
				"with --"+fromClusterFlag+" it may be TYPE/NAME, an object whose namespace is copied; -f takes files")
		}
		return nil
	}
	if f.MaxObjects < 0 {
		return negative("max-objects", f.MaxObjects)
	}
	return nil
}

// CopySource is a part of a cluster that a sandbox begins with.
type CopySource struct {
	Connection *connect.Connection
	Flags      CopyFlags
	// Namespaces are copied; without any, and without Objects and AllNamespaces, that of the connection is.
	Namespaces    []string
	AllNamespaces bool
	// Objects are those whose namespaces are copied.
	Objects connect.TargetArgs
	// Controllers is --controller: those that it names are mentioned if they do not run.
	Controllers string
	// KeepNodes makes the sandbox have simulated nodes beside those that were copied.
	KeepNodes bool
}

// Source returns the source for the flags; nil without --from-cluster.
func (f *CopyFlags) Source(
	connection *connect.Connection, namespaces []string, all bool, args []string,
) (*CopySource, error) {
	objects, err := connect.NewTargetFlags().Parse(args)
	if err != nil {
		return nil, err
	}
	switch {
	case len(objects.Types) > 0:
		return nil, cli.WithHint(fmt.Errorf("%q names a kind, not an object", objects.Types[0]),
			"a copy has all kinds of a namespace: -n NAMESPACE copies it, TYPE/NAME the one of an object")
	case all && (len(namespaces) > 0 || !objects.Empty()):
		return nil, errors.New("-A copies all namespaces: it excludes -n and the names of objects")
	case !objects.Empty() && len(namespaces) > 1:
		return nil, errors.New("objects are in one namespace: name it by -n")
	}
	return &CopySource{
		Connection: connection, Flags: *f, Namespaces: namespaces, AllNamespaces: all, Objects: objects,
	}, nil
}
