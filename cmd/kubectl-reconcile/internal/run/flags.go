package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// Flags are the flags of `run`.
type Flags struct {
	session   session.Flags
	cluster   *connect.Flags
	dryRun    dryRunFlags
	write     writeFlags
	authority authorityFlags
	copy      session.CopyFlags
	sandbox   bool
	manifests *connect.ManifestFlags
	until     untilFlag
	timeout   time.Duration
	events    bool
	quiet     bool
	output    string
	list      bool
}

func newFlags() *Flags {
	return &Flags{
		cluster: connect.NewFlags(),
		manifests: connect.NewManifestFlags(
			"with --sandbox, files, directories or URLs with the objects to create; - is stdin"),
	}
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.session.AddTo(cmd, "")
	flags.Lookup("controller").Usage += "; with --sandbox the default is '*'"
	flags.BoolVar(&f.sandbox, "sandbox", false, "run against an API server inside this process")
	f.copy.AddTo(cmd)
	f.manifests.AddTo(flags)
	f.dryRun.addTo(cmd)
	f.write.addTo(flags)
	f.authority.addTo(flags)
	flags.BoolVar(&f.list, "list", false,
		"list all controllers of kube-controller-manager, and whether they can run; -o is json, yaml or name")
	f.cluster.AddConnectionFlags(cmd, func(set *pflag.FlagSet) {
		set.Lookup("namespace").Usage = "on a cluster, short for --namespaces with one; " +
			"with --sandbox, namespace of the objects that name none, created if it does not exist"
	})
	flags.Var(&f.until, "until",
		"when to end: settled (nothing left to do), ready (all objects of -f are), or after a duration; "+
			"by default ready with -f or -k, else when interrupted")
	flags.DurationVar(&f.timeout, "timeout", time.Minute,
		"give up waiting for --until settled or ready after this time, and with --write before that for the Lease; "+
			"0 waits forever")
	flags.BoolVar(&f.events, "events", false, "show the Events that controllers record")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show the summary only")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json writes the trace, one event a line; "+
		"graph shows which controllers watch, read and write what, and what of that stands out; "+
		"dot and mermaid draw it")
	cli.CompleteWords(cmd, "until", string(runlocal.GoalSettled)+"\tnothing is left to do",
		string(runlocal.GoalReady)+"\tall objects of -f are ready")
	f.completeOutput(cmd)
	f.copy.Complete(cmd, f.cluster)
	f.session.Narrow.Complete(cmd, f.cluster)
	cli.CompleteList(cmd, "namespaces", f.cluster.OfferNamespaces())
	cli.Complete(cmd, "lease-namespace", f.cluster.OfferNamespaces())
	cli.CompleteFiles(cmd, accountKeyFlag, rootCAFlag, signingCertFlag, signingKeyFlag)
}

func (f *Flags) validate(args []string) error {
	if err := f.copy.Validate(f.cluster.Cmd.Flags(), args); err != nil {
		return err
	}
	if f.sandbox && !f.cluster.Cmd.Flags().Changed("controller") {
		f.session.Controllers = allControllers
	}
	switch {
	case f.session.Controllers == "":
		return cli.WithHint(errors.New("run needs --controller, the controllers to run"),
			"for example --controller deployment,replicaset, or --controller '*' for all")
	case f.output != "" && f.output != "json" && f.graph() == "":
		return cli.WithHint(cli.UnknownError("output format", f.output),
			"there are json, "+strings.Join(session.GraphFormats(), ", ")+"; without -o the output is for people")
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.quiet && f.session.Verbosity > 0:
		return errors.New("-q and -v exclude each other")
	}
	if err := f.validateTarget(); err != nil {
		return err
	}
	if f.until.goal.Type == runlocal.GoalReady && !f.manifests.Given() {
		return errors.New("--until ready needs objects to wait for: give them with -f or -k")
	}
	return f.session.Validate()
}

// allControllers is the value of --controller that runs all that can run.
const allControllers = "*"

// sandboxOnly are the flags that make no sense on a cluster.
var sandboxOnly = []string{"filename", "kustomize", "recursive", "nodes", "pod-ready-after"}

// validateTarget returns an error for flags of the sandbox on a cluster and the reverse.
func (f *Flags) validateTarget() error {
	flags := f.cluster.Cmd.Flags()
	if !f.sandbox && f.copy.FromCluster {
		return cli.WithHint(errors.New("--from-cluster needs --sandbox"), "it is the sandbox that begins with the copy")
	}
	if !f.sandbox {
		for _, name := range sandboxOnly {
			if flags.Changed(name) {
				return cli.WithHint(fmt.Errorf("%s needs --sandbox", flagText(flags.Lookup(name))),
					"without --sandbox the controllers run on the objects and nodes that the cluster has")
			}
		}
		if err := f.write.setNamespaces(*f.cluster.Config.Namespace); err != nil {
			return err
		}
		return errors.Join(f.dryRun.validate(), f.write.validate(flags))
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		if f.copy.FromCluster && isCopyFlag(flag.Name) {
			return
		}
		if err == nil && isClusterFlag(flag.Name) {
			err = cli.WithHint(fmt.Errorf("%s and --sandbox exclude each other", flagText(flag)),
				"with --sandbox no cluster is touched")
		}
	})
	if err != nil || !f.copy.FromCluster {
		return err
	}
	if f.write.allNamespaces && (*f.cluster.Config.Namespace != "" || len(f.write.namespaces) > 0) {
		return errors.New("-A copies all namespaces: it excludes -n and --namespaces")
	}
	return f.write.setNamespaces(*f.cluster.Config.Namespace)
}

// isCopyFlag reports whether a flag says which part of which cluster is copied.
func isCopyFlag(name string) bool {
	return isConnectionFlag(name) || name == "namespaces" || name == "all-namespaces"
}

// isConnectionFlag reports whether a flag is one of kubectl's that say how to reach a cluster.
func isConnectionFlag(name string) bool {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	connect.NewFlags().Config.AddFlags(connection)
	return name != "namespace" && connection.Lookup(name) != nil
}

// isClusterFlag reports whether a flag makes sense on a cluster only.
func isClusterFlag(name string) bool {
	return isConnectionFlag(name) || name == dryRunFlag ||
		name == dryRunAggregatedFlag ||
		isAuthorityFlag(name) || slices.Contains(writeFlagNames, name)
}

// flagText is a flag as it is mostly typed.
func flagText(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}

// untilFlag is the value of --until. It implements pflag.Value; the zero value is that the flag was not given.
type untilFlag struct{ goal runlocal.Goal }

// Set implements pflag.Value.
func (u *untilFlag) Set(s string) error {
	switch t := runlocal.GoalType(s); t {
	case runlocal.GoalSettled, runlocal.GoalReady:
		u.goal = runlocal.Goal{Type: t}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("must be settled, ready or a duration such as 30s, more than 0")
	}
	u.goal = runlocal.Goal{Type: runlocal.GoalElapsed, After: d}
	return nil
}

// String implements pflag.Value.
func (u *untilFlag) String() string {
	if u.goal.Type == runlocal.GoalElapsed {
		return u.goal.After.String()
	}
	return string(u.goal.Type)
}

// Type implements pflag.Value.
func (u *untilFlag) Type() string { return "goal" }

// goalOr returns the goal with its timeout, or the default of a run with or without objects to apply.
func (u *untilFlag) goalOr(objects bool, timeout time.Duration) runlocal.Goal {
	g := u.goal
	switch {
	case g.Type != "":
	case objects:
		g.Type = runlocal.GoalReady
	default:
		g.Type = runlocal.GoalInterrupted
	}
	g.Timeout = timeout
	return g
}

const (
	dryRunFlag           = "dry-run"
	dryRunAggregatedFlag = "dry-run-aggregated"
)

// dryRunFlags say how a dry run is done.
type dryRunFlags struct {
	how        string
	aggregated bool
}

func (f *dryRunFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.how, dryRunFlag, string(guard.Server),
		"without --write, what becomes of writes: server sends them as a dry run, which keeps nothing, "+
			"client sends none")
	cmd.Flags().BoolVar(&f.aggregated, dryRunAggregatedFlag, false,
		"with --dry-run=server, also send writes to aggregated APIs whose servers say that they can try them; "+
			"these may keep them all the same")
	cli.CompleteWords(cmd, dryRunFlag, string(guard.Server)+"\tthe server tries each write without keeping it",
		string(guard.Client)+"\tno write is sent")
}

func (f *dryRunFlags) validate() error {
	switch f.mode() {
	case guard.Client:
		if f.aggregated {
			return fmt.Errorf("--%s needs --%s=server", dryRunAggregatedFlag, dryRunFlag)
		}
		return nil
	case guard.Server:
		return nil
	}
	return cli.WithHint(cli.UnknownError("--"+dryRunFlag, f.how),
		cli.Suggestion(f.how, []string{string(guard.Server), string(guard.Client)}, "server and client are known"))
}

func (f *dryRunFlags) mode() guard.Mode { return guard.Mode(f.how) }

// writeFlags say whether controllers write to a cluster, and in which part of it they work.
type writeFlags struct {
	write, force, yes bool
	namespaces        []string
	allNamespaces     bool
	shard             shardFlag
	leaseNamespace    string
	leaseDuration     time.Duration
}

// writeFlagNames are the names of writeFlags.
var writeFlagNames = []string{"write", "force", "yes", "namespaces", "all-namespaces", "shard", "lease-namespace",
	"lease-duration"}

func (f *writeFlags) addTo(flags *pflag.FlagSet) {
	flags.BoolVar(&f.write, "write", false, "let the controllers write to the cluster; asks before")
	flags.BoolVar(&f.yes, "yes", false, "with --write, do not ask")
	flags.BoolVar(&f.force, "force", false,
		"with --write, write even while kube-controller-manager does, or where that cannot be found out")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "work in these namespaces only, and read no others")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false,
		"on a cluster, work in all namespaces, which is the default")
	flags.Var(&f.shard, "shard",
		"work in the K-th of N parts of the namespaces, chosen by a hash of their names; "+
			"what is in no namespace is in part 1")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", lease.DefaultNamespace,
		"with --write, namespace of the Lease that keeps others from writing at the same time")
	flags.DurationVar(&f.leaseDuration, "lease-duration", lease.DefaultDuration,
		"with --write, how long the Lease keeps other runners from writing after it was last renewed; "+
			"this run ends if it cannot renew the Lease for two thirds of that, "+
			"so a longer one outlasts an API server that is away for longer")
}

func (f *writeFlags) validate(flags *pflag.FlagSet) error {
	for _, name := range []string{"yes", "force", "lease-namespace", "lease-duration"} {
		if !f.write && flags.Changed(name) {
			return cli.WithHint(fmt.Errorf("--%s needs --write", name),
				"without --write nothing is written to the cluster")
		}
	}
	switch {
	case f.write && (flags.Changed(dryRunFlag) || flags.Changed(dryRunAggregatedFlag)):
		return cli.WithHint(fmt.Errorf("--write and --%s exclude each other", dryRunFlag),
			"without --write it is a dry run")
	case !f.shard.IsZero() && len(f.namespaces) > 0:
		return cli.WithHint(errors.New("--shard and --namespaces exclude each other"),
			"either name the namespaces of this runner, or have a hash of their names choose them")
	case f.leaseDuration != 0 && f.leaseDuration < lease.DefaultDuration:
		return fmt.Errorf("--lease-duration %s is less than %s", f.leaseDuration, lease.DefaultDuration)
	case f.leaseDuration%time.Second != 0:
		return fmt.Errorf("--lease-duration %s is not of whole seconds, as a Lease's is", f.leaseDuration)
	case flags.Changed("namespaces") && len(f.namespaces) == 0:
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

// setNamespaces makes -n, whose value is one, and -A say in which namespaces of a cluster the controllers work.
func (f *writeFlags) setNamespaces(one string) error {
	switch {
	case f.allNamespaces && (one != "" || len(f.namespaces) > 0):
		return cli.WithHint(errors.New("--all-namespaces and the names of namespaces exclude each other"),
			"on a cluster, all namespaces are the default")
	case one != "" && len(f.namespaces) > 0:
		return cli.WithHint(errors.New("-n and --namespaces exclude each other"),
			"-n NAME is short for --namespaces NAME")
	case strings.Contains(one, ","):
		return cli.WithHint(fmt.Errorf("-n takes one namespace, not %q", one),
			"--namespaces "+cli.ShellQuoted(one)+" takes several; without either it is all")
	case one != "":
		f.namespaces = []string{one}
	}
	return nil
}

// shardFlag is the value of --shard. It implements pflag.Value.
type shardFlag struct{ runlocal.Shard }

// Set implements pflag.Value.
func (s *shardFlag) Set(text string) error {
	shard, err := runlocal.ParseShard(text)
	if err == nil {
		s.Shard = shard
	}
	return err
}

// Type implements pflag.Value.
func (s *shardFlag) Type() string { return "K/N" }
