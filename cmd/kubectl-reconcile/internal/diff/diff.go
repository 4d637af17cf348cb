package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

const diffExample = "" +
	`  # What differs from what is wanted in the namespace, and what the controllers would do about it next
  kubectl reconcile diff

  # What they would do if web-v2.yaml were applied, to the end; the cluster is only read
  kubectl reconcile diff -f web-v2.yaml

  # What the controllers would do if web-v2.yaml were applied where web.yaml has been; no cluster is needed
  kubectl reconcile diff --from web.yaml -f web-v2.yaml

  # What they would do with these objects first, and the next three steps
  kubectl reconcile diff --from dump.yaml
  kubectl reconcile diff --from dump.yaml --steps 3

  # What has changed in a recording in 90 seconds, and what the controllers would have done next
  kubectl reconcile diff --from web.rec --at +30s --to +2m
  kubectl reconcile diff --from web.rec --at +2m

  # In one line; the exit code is 1 if there is anything to do
  kubectl reconcile diff --from web.yaml -f web-v2.yaml --summary`

// errorCode is the exit code of an error: 1 is that there is something to do.
const errorCode = 2

// The values of --until.
const (
	untilNext    = "next"
	untilSettled = "settled"
)

// Flags are the flags of `diff`.
type Flags struct {
	cluster   *connect.Flags
	manifests *connect.ManifestFlags
	from      []string
	at, to    string
	sandbox   bool
	all       bool
	copied    copyFlags
	apply     runlocal.KubectlApply
	until     string
	prune     bool
	selector  string
	allowlist []string
	steps     int
	wait      time.Duration
	timeout   time.Duration
	nodes     int
	shown     shownFields
	summary   bool
	verbosity int
	output    string
}

// copyFlags are those of the copy of the cluster.
type copyFlags struct {
	maxObjects int
	assume     nodes.Assumption
}

// shownFields are the fields of objects that are left out unless they are asked for.
type shownFields struct{ managedFields, status bool }

// NewCommand returns the command `diff`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{
		cluster: connect.NewFlags(),
		manifests: connect.NewManifestFlags(
			"files, directories or URLs with the objects that would be applied; - is stdin"),
	}
	cmd := &cobra.Command{
		Use:   "diff [TYPE[/NAME]…] [-f FILE]",
		Short: "Show what the controllers would do next, and after an apply",
		Long: `Show what in a namespace is not as it is wanted, and what Kubernetes' own controllers would do about it
next; or, with -f, what they would do if these objects were applied: one step after the other, and how the objects
differ at the end.

The controllers run in this process, on a copy of the namespace in an API server that it carries inside; the cluster
is only read. Objects of -f are tried there in dry run, with its webhooks and defaults. With --from the objects of
files take the place of the cluster; or what a recording has at a moment (--at). With --to, nothing is planned: it
shows how the objects of a recording differ at two moments.

Steps that change only the status of objects, and those of simulated nodes, are counted; -v shows them. The exit code
is 0 if there is nothing to do, 1 if there is, and more after an error.`,
		Example: diffExample,
	}
	run := cli.RunE(streams, f.toOptions)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.WithExitCode(run(cmd, args), errorCode)
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "copy all namespaces")
	flags.StringArrayVar(&f.from, "from", nil,
		"begin with the objects of these files, directories, URLs or recordings, in the place of a cluster; "+
			"- is stdin")
	cli.RefuseEmpty(flags, "from")
	flags.StringVar(&f.at, "at", "",
		"with --from, begin with what a recording has at this `moment`: a time, +90s after the beginning, "+
			"-2m before the end, #n for record n, a resourceVersion, start or end; by default end")
	flags.StringVar(&f.to, "to", "",
		"with --from, show how the objects of a recording differ between --at, by default start, and this moment")
	flags.BoolVar(&f.sandbox, "sandbox", false, "begin with an empty cluster")
	flags.IntVar(&f.copied.maxObjects, "max-objects", seed.DefaultMaxObjects,
		"give up on a part of the cluster with more objects than this; 0 copies any number")
	flags.Var(&f.copied.assume, "assume",
		"what becomes of new pods: ready (as soon as they have a node) or pending (for good); "+
			"by default they become ready")
	f.manifests.AddTo(flags)
	flags.BoolVar(&f.apply.ServerSide, "server-side", false, "with -f, apply as kubectl apply --server-side does")
	flags.BoolVar(&f.apply.ForceConflicts, "force-conflicts", false,
		"with --server-side, take fields that others manage")
	flags.StringVar(&f.apply.FieldManager, "field-manager", "",
		"with -f, the name of the manager of the fields that are applied; "+
			"by default "+runlocal.KubectlClientSideManager+", with --server-side "+runlocal.KubectlServerSideManager)
	flags.BoolVar(&f.prune, "prune", false,
		"with -f, delete what kubectl apply --prune would: "+
			"objects that were applied before and are not among those of -f")
	flags.StringVarP(&f.selector, "selector", "l", "",
		"with -f, only objects with these labels, such as app=web; with --prune, delete only these, too")
	flags.StringArrayVar(&f.allowlist, "prune-allowlist", nil,
		"with --prune, the kinds to delete, as GROUP/VERSION/KIND, in the place of kubectl's own list")
	flags.StringVar(&f.until, "until", "",
		"when the plan ends: settled (nothing is left to do) or next (each object was reconciled once); "+
			"by default settled with -f or -k, else next")
	flags.IntVar(&f.steps, "steps", 0,
		"end the plan after this many steps of controllers, or when nothing is left to do")
	flags.DurationVar(&f.wait, "wait", 0, "wait this long for what is due later; by default it is only listed")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "give up after this time; 0 waits forever")
	flags.IntVar(&f.nodes, "nodes", 3,
		"simulated nodes, with --from and --sandbox, or if the nodes of the cluster cannot be read; "+
			"with 0, pods stay pending")
	flags.BoolVar(&f.shown.managedFields, "show-managed-fields", false, "show the managed fields of objects")
	flags.BoolVar(&f.shown.status, "show-status", false,
		"show the status of objects, and the steps that change nothing else")
	flags.BoolVar(&f.summary, "summary", false, "print only how much is to do")
	flags.CountVarP(&f.verbosity, "verbose", "v",
		"show more: steps that change only the status, those of simulated nodes, all fields, "+
			"and each of several objects that are alike")
	flags.StringVarP(&f.output, "output", "o", "", "output format: name, json or yaml")
	f.cluster.AddConnectionFlags(cmd, func(set *pflag.FlagSet) {
		set.Lookup("namespace").Usage = "the namespace that is copied, and that of objects which name none"
	})
	f.cluster.Color = render.ColorAuto
	flags.Var(&f.cluster.Color, "color", "colour the output: auto, always or never")
	f.complete(cmd)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.WithExitCode(cmd.Parent().FlagErrorFunc()(cmd, err), errorCode)
	})
}

// complete completes arguments and flags from the files of --from, if it is given, else from the cluster.
func (f *Flags) complete(cmd *cobra.Command) {
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
	cli.CompleteWords(cmd, "until", untilNext+"\teach object was reconciled once",
		untilSettled+"\tnothing is left to do")
	cli.CompleteWords(cmd, "output", diffOutputs...)
	cli.CompleteWords(cmd, "assume", string(nodes.AssumeReady), string(nodes.AssumePending))
	f.cluster.CompleteFrom(func() ([]string, string) { return f.from, f.at }, moment.SourceAt)
	targets := f.cluster.OfferTargets()
	cmd.ValidArgsFunction = cli.Completion(func(ctx context.Context, args []string, typed string) []string {
		if f.sandbox {
			return nil // there is nothing to name
		}
		return targets(ctx, args, typed)
	})
	cli.CompleteInOrder(cmd, "at", f.cluster.OfferMoments())
	cli.CompleteInOrder(cmd, "to", f.cluster.OfferMoments())
	cli.Complete(cmd, "prune-allowlist", f.cluster.OfferGroupVersionKinds())
	cli.CompleteFiles(cmd, "from")
}

// diffOutputs are the values of -o.
var diffOutputs = []string{"name", "json", "yaml"}

// Options are what `diff` needs to run.
type Options struct {
	// readFrom reads the objects that there are, readChange those that would be applied; either is nil without.
	readFrom   func(context.Context) (plan.Objects, error)
	readChange func(context.Context) ([]runlocal.Manifest, error)
	at         time.Time           // of what readFrom has read of a recording; zero for now
	comparison *comparison         // of two moments, in the place of a plan; nil without --to
	cluster    *connect.Connection // nil with --from and --sandbox
	named      connect.TargetArgs
	all        bool         // -A
	change     plan.Change  // without the manifests, until they are read
	plan       plan.Options // the namespace is empty without -n, unless there is a cluster
	timeout    time.Duration

	shown    shownFields
	summary  bool
	verbose  bool
	output   string
	external string // KUBECTL_EXTERNAL_DIFF

	streams  genericiooptions.IOStreams
	progress *render.Progress // nil shows none
	palette  render.Palette
	width    int // of the terminal; 0 if stdout is none
	ascii    bool
}

func (f *Flags) validate(args []string) error {
	if err := cli.CheckOutput(f.output, diffOutputs, "for people"); err != nil {
		return err
	}
	switch {
	case len(f.from) > 0 && f.sandbox:
		return errors.New("--from and --sandbox exclude each other")
	case f.sandbox && (len(args) > 0 || f.all):
		return cli.WithHint(errors.New("TYPE/NAME and -A name what there is: they and --sandbox exclude each other"),
			"the plan is for all objects of -f")
	case f.copied.maxObjects < 0:
		return fmt.Errorf("--max-objects %d is negative", f.copied.maxObjects)
	case f.sandbox && !f.manifests.Given():
		return cli.WithHint(errors.New("with --sandbox there is nothing to do without -f or -k"),
			"-f FILE names what would be applied")
	case (f.prune || f.selector != "" && f.to == "") && !f.manifests.Given():
		return errors.New("--prune and -l are for the objects of -f or -k: none are given")
	case len(f.allowlist) > 0 && !f.prune:
		return errors.New("--prune-allowlist only works with --prune")
	case f.until != "" && f.until != untilNext && f.until != untilSettled:
		return cli.WithHint(fmt.Errorf("--until %s is not known", f.until), "there are next and settled")
	case f.apply.ForceConflicts && !f.apply.ServerSide:
		return errors.New("--force-conflicts only works with --server-side")
	case (f.apply.ServerSide || f.apply.FieldManager != "") && !f.manifests.Given():
		return errors.New("--server-side and --field-manager say how the objects of -f or -k are applied: " +
			"none are given")
	case f.steps < 0:
		return fmt.Errorf("--steps %d is negative", f.steps)
	case f.wait < 0:
		return fmt.Errorf("--wait %s is negative", f.wait)
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.nodes < 0:
		return fmt.Errorf("--nodes %d is negative", f.nodes)
	case f.summary && f.output != "":
		return fmt.Errorf("--summary and -o %s exclude each other", f.output)
	}
	return nil
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	if err := errors.Join(f.validateComparison(), f.validate(args)); err != nil {
		return nil, err
	}
	recorded, streams, err := f.recorded(streams)
	if err != nil {
		return nil, err
	}
	progress, streams := cli.WithReadingProgress(streams, f.output == "")
	o := &Options{
		all: f.all, change: plan.Change{Apply: f.apply}, timeout: f.timeout,
		plan: plan.Options{
			Namespace: *f.cluster.Config.Namespace, Steps: f.steps, Wait: f.wait,
			Next:  f.until == untilNext || f.until == "" && !f.manifests.Given() && f.steps == 0,
			Nodes: cmp.Or(f.nodes, runlocal.NoNodes), Assume: f.copied.assume,
			MaxObjects: cmp.Or(f.copied.maxObjects, -1), Warnings: connect.NewWarnings(streams.ErrOut),
		},
		shown: f.shown, summary: f.summary, verbose: f.verbosity > 0, output: f.output,
		external: os.Getenv("KUBECTL_EXTERNAL_DIFF"),
		streams:  streams, progress: progress, palette: render.NewPalette(streams.Out, f.cluster.Color, os.Getenv),
		width: render.TerminalWidth(streams.Out), ascii: render.ASCIIOnly(os.Getenv),
	}
	if recorded {
		if err := f.recordingOptions(o); err != nil {
			return nil, err
		}
	} else if len(f.from) > 0 {
		o.readFrom = func(context.Context) (plan.Objects, error) {
			return connect.ReadFiles(streams.In, f.from)
		}
	}
	targets := connect.NewTargetFlags()
	targets.AllNamespaces = f.all
	if o.named, err = targets.Parse(args); err != nil {
		return nil, err
	}
	if err := f.changeOptions(o); err != nil {
		return nil, err
	}
	if len(f.from) > 0 || f.sandbox {
		return o, nil
	}
	if o.cluster, err = f.cluster.Connect(streams); err != nil {
		return nil, err
	}
	o.cluster.Progress = progress
	o.plan.Namespace = o.cluster.Namespace
	return o, nil
}

// changeOptions sets the options of the change, which is that of -f and -k.
func (f *Flags) changeOptions(o *Options) error {
	if !f.manifests.Given() {
		return nil
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return badSelector(f.selector, err)
	}
	o.readChange = func(context.Context) ([]runlocal.Manifest, error) {
		read, err := f.manifests.Read(o.streams.In)
		selected := slices.DeleteFunc(read, func(m runlocal.Manifest) bool {
			return !selector.Matches(labels.Set(m.Object.GetLabels()))
		})
		if err == nil && len(selected) == 0 {
			err = fmt.Errorf("none of the objects of -f has the labels %q", f.selector)
		}
		return selected, err
	}
	if f.prune {
		allowlist, err := parseAllowlist(f.allowlist)
		if err != nil {
			return err
		}
		o.change.Prune = &plan.Pruning{Selector: f.selector, Kinds: allowlist}
	}
	return nil
}

// parseAllowlist parses the values of --prune-allowlist: group/version/kind, with core for the group without a name.
func parseAllowlist(values []string) ([]schema.GroupVersionKind, error) {
	var out []schema.GroupVersionKind
	for _, value := range values {
		parts := strings.Split(value, "/")
		if len(parts) != 3 {
			return nil, cli.WithHint(fmt.Errorf("--prune-allowlist %q is not GROUP/VERSION/KIND", value),
				"for example core/v1/ConfigMap or apps/v1/Deployment")
		}
		if parts[0] == "core" {
			parts[0] = ""
		}
		out = append(out, schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]})
	}
	return out, nil
}

// Run has the plan made and prints it. The error is cli.ErrSilentExit if there is something to do.
func (o *Options) Run(ctx context.Context) error {
	if o.comparison != nil {
		return o.comparison.run(ctx)
	}
	heap.Run(heap.Planning)
	if err := cli.SetUpKlog(render.Normal); err != nil {
		return err
	}
	made, err := o.makePlan(ctx)
	if err != nil {
		return err
	}
	if err := o.print(ctx, made); err != nil {
		return err
	}
	return made.verdict()
}
