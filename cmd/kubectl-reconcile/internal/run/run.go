package run

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
)

const runExample = `  # Run all of Kubernetes' own controllers on a manifest, without a cluster
  %[1]s run --sandbox -f web.yaml

  # Only the Deployment and ReplicaSet controllers
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml

  # The same, with everything the controllers log and read
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml -v

  # What the Deployment controller would do on your cluster at this moment; nothing is written
  %[1]s run --controller deployment --until settled

  # A kustomization, until nothing is left to do
  %[1]s run --sandbox -k ./overlay --until settled

  # The trace as JSON, one event a line
  %[1]s run --controller replicaset --sandbox -f rs.yaml -o json | jq 'select(.type == "request")'`

// NewCommand returns the command `run`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := newFlags()
	cmd := &cobra.Command{
		Use:   "run (--controller NAMES | --sandbox [-f FILE])",
		Short: "Run Kubernetes' own controllers, and show why each reconcile happened",
		Long: `Run Kubernetes' own controllers in this process, and tell what they do: each write below what it
reacts to. With --blocks each reconcile is shown: the watch events that led to it, what the controller
decided, what it wrote, and how it ended.

They run against your cluster, in dry run: nothing is written. With --write they write, in the place
of a kube-controller-manager that does not run, and are the only ones that do. With --sandbox they
run against an API server inside this process instead, with simulated nodes; no cluster is needed
and none is touched. The objects of -f or -k are created in it first. The run ends when they are
ready, or as --until says.

Writes of a status that only repeat what is told, and reconciles that wrote nothing and went well, are
counted at the end; -v shows all of them. With --blocks, and in a dry run, each block of lines is a
reconcile, shown when it ends: the time since the start at which it ended, the controller, the key,
and a number by which others name it. How long it took is in its last line. Words such as "put off"
are explained in docs/glossary.md.`,
		Args: cobra.ArbitraryArgs, // objects to copy with --from-cluster: validate refuses others
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return f.printList(streams)
			}
			o, err := f.toOptions(streams, args)
			if err != nil {
				return err
			}
			heap.Run(heap.Running)
			return o.Run(cmd.Context())
		},
	}
	cmd.Example = fmt.Sprintf(runExample, "kubectl reconcile")
	f.addTo(cmd)
	return cmd
}
