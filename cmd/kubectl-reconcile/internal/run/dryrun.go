package run

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
)

const (
	dryRunFlag           = "dry-run"
	dryRunAggregatedFlag = "dry-run-aggregated"

	guardServer = guard.Server
	guardClient = guard.Client
)

// dryRunFlags say how a dry run is done.
type dryRunFlags struct {
	how        string
	aggregated bool
}

func (f *dryRunFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.how, dryRunFlag, string(guardServer),
		"how nothing is written to the cluster: server tries each write there without keeping it, client sends none")
	cmd.Flags().BoolVar(&f.aggregated, dryRunAggregatedFlag, false,
		"with --dry-run=server, also send writes to aggregated APIs whose servers say that they can try them; these may keep them all the same")
	cli.CompleteWords(cmd, dryRunFlag, string(guardServer), string(guardClient))
}

func (f *dryRunFlags) validate() error {
	switch f.mode() {
	case guardClient:
		if f.aggregated {
			return fmt.Errorf("--%s needs --%s=server", dryRunAggregatedFlag, dryRunFlag)
		}
		return nil
	case guardServer:
		return nil
	}
	return cli.WithHint(cli.UnknownError("--"+dryRunFlag, f.how), cli.Suggestion(f.how, []string{string(guardServer), string(guardClient)}, "server and client are known"))
}

func (f *dryRunFlags) mode() guard.Mode { return guard.Mode(f.how) }

// hasCommand reports whether the program has a command of that name.
func hasCommand(root *cobra.Command, name string) bool {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return true
		}
	}
	return false
}

// otherMinor says that a cluster's version has another minor than the controllers; empty if it has not, or if that cannot
// be told.
func otherMinor(cluster, ours string) string {
	theirs, err := utilversion.ParseGeneric(cluster)
	if err != nil {
		return ""
	}
	own, err := utilversion.ParseGeneric(ours)
	if err != nil || theirs.Major() == own.Major() && theirs.Minor() == own.Minor() {
		return ""
	}
	return strings.Join([]string{"the controllers are those of Kubernetes", ours + ":", "the cluster's own, of", cluster + ",", "may act differently"}, " ")
}
