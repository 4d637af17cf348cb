package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// writeFlags report whether controllers write to a cluster, and to which part of it.
type writeFlags struct {
	write, force, yes bool
	namespaces        []string
	all               bool
	shard             shard
	leaseNamespace    string
	leaseDuration     time.Duration
}

// writeFlagNames are the flags that have to do with a cluster only.
var writeFlagNames = []string{"write", "force", "yes", "namespaces", "all-namespaces", "shard", "lease-namespace", "lease-duration"}

func (f *writeFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "let the controllers write to the cluster; asks before")
	flags.BoolVar(&f.yes, "yes", false, "with --write, do not ask")
	flags.BoolVar(&f.force, "force", false, "with --write, write even while kube-controller-manager does, or where nobody can tell")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "work in these namespaces only, and read no others")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "on a cluster, work in all namespaces, which is the default")
	flags.Var(&f.shard, "shard", "K/N: work in the K-th of N parts of the namespaces, told by a hash of their names; "+
		"what is in no namespace is part 1's")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", lease.DefaultNamespace, "with --write, where the Lease is that keeps others from writing at the same time")
	flags.DurationVar(&f.leaseDuration, "lease-duration", lease.DefaultDuration, "with --write, after which time without a word from this runner another takes its place; "+
		"this one ends if it could not renew the Lease for two thirds of it: give it more to outlast an API server that is away for longer")
}

func (f *writeFlags) validate(cmd *cobra.Command) error {
	for _, name := range []string{"yes", "force", "lease-namespace", "lease-duration"} {
		if !f.write && cmd.Flags().Changed(name) {
			return cli.WithHint(fmt.Errorf("--%s needs --write", name), "without --write nothing is written to the cluster")
		}
	}
	switch {
	case f.write && (cmd.Flags().Changed(dryRunFlag) || cmd.Flags().Changed(dryRunAggregatedFlag)):
		return cli.WithHint(fmt.Errorf("--write and --%s exclude each other", dryRunFlag), "without --write it is a dry run")
	case f.shard.of > 0 && len(f.namespaces) > 0:
		return cli.WithHint(errors.New("--shard and --namespaces exclude each other"), "either say which namespaces are this runner's, or let their names tell")
	case f.leaseDuration != 0 && f.leaseDuration < lease.DefaultDuration:
		return fmt.Errorf("--lease-duration %s is less than %s", f.leaseDuration, lease.DefaultDuration)
	case f.leaseDuration%time.Second != 0:
		return fmt.Errorf("--lease-duration %s is not of whole seconds, as a Lease's is", f.leaseDuration)
	case cmd.Flags().Changed("namespaces") && len(f.namespaces) == 0:
		return errors.New("--namespaces names none")
	}
	for _, name := range append(slices.Clone(f.namespaces), f.leaseNamespace) {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			return fmt.Errorf("%q is no name of a namespace: %s", name, strings.Join(wrong, "; "))
		}
	}
	slices.Sort(f.namespaces)
	f.namespaces = slices.Compact(f.namespaces)
	return nil
}

// onCluster makes a run one on a part of the cluster, or one that writes.
func (f *writeFlags) onCluster(r *clusterRun) error {
	o := &r.options
	o.Write, o.Namespaces, o.Keep = f.write, f.namespaces, f.keep()
	r.part = part{f.namespaces, f.shard}
	var lines []string
	var err error
	if o.Controllers, lines, err = r.part.narrow(o.Controllers, r.list, f.write); err != nil {
		return err
	}
	r.without = append(r.without, lines...)
	if f.write {
		r.write = &writing{force: f.force, yes: f.yes, shard: f.shard, namespace: f.leaseNamespace, duration: f.leaseDuration, name: lease.Name(f.shard.number, f.shard.of)}
	}
	return nil
}

// keep says which namespaces are worked in; nil is all. What is in none is asked for by "".
func (f *writeFlags) keep() func(namespace string) bool {
	switch {
	case f.shard.of > 0:
		return f.shard.has
	case len(f.namespaces) > 0:
		return func(namespace string) bool { return slices.Contains(f.namespaces, namespace) }
	}
	return nil
}
