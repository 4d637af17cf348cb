// Package tree is the command `tree`: owners and dependents of objects, with their status and with what the garbage
// collector will do about them. What depends on what is found out by pkg/ownertree, and what the status adds up to by
// its package treestatus; here are the flags, and all that is text for people.
//
// A run goes through these stages, each a function of what the one before returns:
//
//	collect.go   what the command line asks for, and the graph in which it is; the trees are laid out by pkg/ownertree
//	facts.go     what each object reports, and reasons found in other objects
//	render.go    roll up, and write in the format asked for:
//	  fold.go, items.go, names.go, reason.go, notes.go   as a table with notes below it
//	  diagram.go                                         for dot and mermaid
//	  document.go                                        as JSON and YAML
//
// watch.go runs the stages again after each change and changes.go writes what differs; preview.go is --delete-preview.
package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

const treeExample = `  # What a Deployment owns, what owns it, and how all of that is doing
  kubectl reconcile tree deploy/web

  # What some pods belong to
  kubectl reconcile tree pods -l app=web --up

  # All Deployments of the namespace, with the containers of their pods
  kubectl reconcile tree deploy --containers

  # Everything in the namespace, and what is wrong in it first
  kubectl reconcile tree

  # A Deployment with what it uses and what uses it: Services, ConfigMaps, PodDisruptionBudgets, …
  kubectl reconcile tree deploy/web --related

  # What has been reported of it lately
  kubectl reconcile tree deploy/web --events

  # What would deleting it do?
  kubectl reconcile tree deploy/web --delete-preview=foreground

  # Follow a rollout
  kubectl reconcile tree deploy/web -w

  # A picture
  kubectl reconcile tree deploy/web -o dot | dot -Tsvg > web.svg

  # What it owned 90 seconds after the beginning of a recording
  kubectl reconcile tree deploy/web --from web.rec --at +90s`

// treeOutputs are the values of -o.
var treeOutputs = []string{"wide", "name", "json", "yaml", "dot", "mermaid"}

// Flags are the flags of `tree`.
type Flags struct {
	cluster *connect.Flags
	targets *connect.TargetFlags

	depth          int
	up, down       bool
	kinds, exclude []string
	containers     bool
	related        bool
	events         bool
	expand         bool
	preview        string
	watch          bool
	output         string
}

// NewCommand makes the command.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{cluster: connect.NewFlags(), targets: connect.NewTargetFlags()}
	cmd := &cobra.Command{
		Use:   "tree [TYPE[,TYPE…] [NAME…] | TYPE/NAME… | -f FILE]",
		Short: "Show who owns whom, how each object is doing, and what the garbage collector will do",
		Long: `Show the owners above objects and the dependents below them, of any kind, with the status of each,
whether its controller has seen its latest generation, and what the garbage collector makes of its
owner references.

Without arguments it shows all objects in the namespace; with -A those of the whole cluster. Where
to look follows from the objects asked for: -A is not needed to see what an object owns. Objects in
the same state share a line, what is wrong comes first, and what could not be read is named below
the tree.`,
		Example: treeExample,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	f.addTo(cmd)
	return cmd
}

func (f *Flags) addTo(cmd *cobra.Command) {
	f.targets.AddTo(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.depth, "depth", 0, "show this many levels below the objects asked for; 0 shows all")
	flags.BoolVar(&f.up, "up", false, "show only the owners above, unless with --down")
	flags.BoolVar(&f.down, "down", false, "show only the dependents below, unless with --up")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "show only these kinds, and the objects asked for: deploy,pods")
	flags.StringSliceVar(&f.exclude, "exclude-kinds", nil, "do not show these kinds")
	flags.BoolVar(&f.containers, "containers", false, "show the containers of pods")
	flags.BoolVar(&f.related, "related", false,
		"show also what is related in other ways than by ownership, by dotted lines")
	flags.BoolVar(&f.events, "events", false, "show the last Events of each object")
	flags.BoolVar(&f.expand, "expand", false, "show each object on its own line")
	flags.StringVar(&f.preview, "delete-preview", "",
		"show what deleting the objects would do: background, foreground or orphan")
	flags.Lookup("delete-preview").NoOptDefVal = string(previewBackground)
	flags.BoolVarP(&f.watch, "watch", "w", false, "keep running, and show what changes")
	flags.StringVarP(&f.output, "output", "o", "", "output format: wide, name, json, yaml, dot or mermaid")
	f.cluster.AddTo(cmd)
	f.cluster.AddRecordingFlags(cmd, moment.Open, moment.SourceAt)
	cmd.ValidArgsFunction = cli.Completion(f.cluster.OfferTargets())
	cli.CompleteList(cmd, "kinds", f.cluster.OfferTypes())
	cli.CompleteList(cmd, "exclude-kinds", f.cluster.OfferTypes())
	cli.CompleteWords(cmd, "output", treeOutputs...)
	cli.CompleteWords(cmd, "delete-preview", previewPolicies...)
}

// The values of --delete-preview.
const (
	previewBackground = "background"
	previewForeground = "foreground"
	previewOrphan     = "orphan"
)

var previewPolicies = []string{previewBackground, previewForeground, previewOrphan}

// Options are what `tree` needs to run.
type Options struct {
	connection *connect.Connection
	targets    *connect.TargetFlags
	named      connect.TargetArgs

	depth                              int
	up, down                           bool
	include, exclude                   []string
	containers, related, expand, watch bool
	events                             bool
	preview                            metav1.DeletionPropagation // empty: none
	output                             string

	streams genericiooptions.IOStreams
	palette render.Palette
	ascii   bool
	width   int // of the terminal; 0 if stdout is none
	clock   clock.WithTicker
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, args []string) (*Options, error) {
	if f.preview != "" && len(args) > 0 && slices.Contains(previewPolicies, args[0]) {
		return nil, cli.WithHint(fmt.Errorf("%q is taken for a TYPE", args[0]),
			"a policy comes after an equals sign: --delete-preview="+args[0])
	}
	named, err := f.targets.Parse(args)
	if err != nil {
		return nil, err
	}
	if err := f.validate(named); err != nil {
		return nil, err
	}
	progress, streams := cli.WithReadingProgress(streams, f.output == "" || f.output == "wide")
	connection, err := f.cluster.Connect(streams)
	if err != nil {
		return nil, err
	}
	connection.Progress = progress
	both := f.up == f.down
	return &Options{
		connection: connection, targets: f.targets, named: named,
		depth: f.depth, up: f.up || both, down: f.down || both, include: f.kinds, exclude: f.exclude,
		containers: f.containers, related: f.related, events: f.events, expand: f.expand, watch: f.watch,
		preview: propagation(f.preview), output: f.output,
		streams: streams, palette: render.NewPalette(streams.Out, f.cluster.Color, os.Getenv),
		ascii: render.ASCIIOnly(os.Getenv), width: render.TerminalWidth(streams.Out), clock: connection.Clock(),
	}, nil
}

// propagation is the API's word for a value of --delete-preview.
func propagation(policy string) metav1.DeletionPropagation {
	if policy == "" {
		return ""
	}
	return metav1.DeletionPropagation(strings.ToUpper(policy[:1]) + policy[1:])
}

func (f *Flags) validate(named connect.TargetArgs) error {
	if err := cli.CheckOutput(f.output, treeOutputs, "a tree"); err != nil {
		return err
	}
	if err := f.cluster.RefuseWatch(f.watch); err != nil {
		return err
	}
	switch {
	case f.depth < 0:
		return errors.New("--depth must not be negative")
	case f.depth > 0 && f.up && !f.down:
		return errors.New("--depth is about what is below, which --up alone does not show")
	case slices.Contains(f.kinds, "") || slices.Contains(f.exclude, ""):
		return errors.New("a kind of --kinds or --exclude-kinds is empty")
	case f.targets.Fields != "" && len(named.Types) == 0:
		return errors.New("--field-selector needs a TYPE: each kind has its own fields")
	case f.containers && f.output == "name":
		return errors.New("containers have no names as objects do: --containers and -o name exclude each other")
	case f.events && f.output == "name":
		return errors.New("--events and -o name exclude each other")
	}
	if f.watch && f.output != "" && f.output != "wide" {
		return cli.WithHint(fmt.Errorf("--watch and -o %s exclude each other", f.output),
			"`status -w -o json` writes a line for each change")
	}
	if f.preview == "" {
		return nil
	}
	return f.validatePreview(named)
}

func (f *Flags) validatePreview(named connect.TargetArgs) error {
	switch {
	case !slices.Contains(previewPolicies, f.preview):
		return cli.WithHint(cli.UnknownError("deletion policy", f.preview),
			cli.Suggestion(f.preview, previewPolicies, "there are background, foreground and orphan"))
	case f.output != "" && !slices.Contains([]string{"json", "yaml", "name"}, f.output):
		return cli.WithHint(fmt.Errorf("--delete-preview and -o %s exclude each other", f.output),
			"-o json, yaml and name show it")
	case f.watch:
		return errors.New("--delete-preview and --watch exclude each other")
	case f.related:
		return errors.New("--delete-preview and --related exclude each other: a deletion follows ownership alone")
	case f.up || f.depth > 0 || len(f.kinds)+len(f.exclude) > 0 || f.containers || f.events:
		return errors.New("--delete-preview is about all that would be deleted: " +
			"it takes no --up, --depth, --kinds, --exclude-kinds, --containers or --events")
	case named.Empty() && !f.targets.Manifests.Given() && f.targets.Labels == "":
		return cli.WithHint(errors.New("--delete-preview needs to know what would be deleted"),
			"name the objects, for example deploy/web")
	}
	return nil
}

// Close closes the recording, if one is read.
func (o *Options) Close() error { return o.connection.Close() }

// Run reads the trees and shows them, once or with --watch as long as they change. Each stage works on what the one
// before returns: collect, Graph.LayOut, readFacts, rollUp, and then fold and draw, or another format.
func (o *Options) Run(ctx context.Context) error {
	q, err := o.resolve(ctx)
	if err != nil {
		return err
	}
	ends := q.cluster.ShowProgress(ctx, o.connection.Progress) // before anything is shown; it may be called again
	defer ends()
	switch {
	case o.watch:
		return follow(ctx, q, ends)
	case o.preview != "":
		return showPreview(ctx, q, ends)
	}
	c, err := collect(ctx, q)
	if err != nil {
		return err
	}
	r, err := read(ctx, q, c, nil)
	ends()
	if r == nil {
		return err
	}
	err = errors.Join(o.print(rollUp(r, o.clock.Now())), err)
	cli.PrintHint(o.streams.ErrOut, q.contentsHint())
	return err
}

// read lays out what was collected and reads its facts, but those known before; before is nil if there are none. The
// error is for objects asked for that do not exist, or if nothing could be read; then the reading may be nil.
func read(ctx context.Context, q *query, c *collected, before *previous) (*reading, error) {
	if c.missing != nil && len(c.asked) == 0 {
		return nil, c.missing
	}
	l, err := c.graph.LayOut(ctx, q.cluster.Reader, c.asked, q.layoutOptions())
	if err != nil {
		return nil, q.options.connection.Explain(err)
	}
	r, err := readFacts(ctx, q, l, before)
	switch {
	case err != nil:
		return nil, q.options.connection.Explain(err)
	case len(l.Branches) == 0 && before != nil:
		return nil, c.missing // it existed, and what has become of it is shown
	case len(l.Branches) == 0:
		return nil, errors.Join(c.missing, explainEmpty(ctx, q, c.graph))
	}
	return r, c.missing
}

// layoutOptions are what is laid out of a graph.
func (q *query) layoutOptions() ownertree.LayoutOptions {
	o := q.options
	return ownertree.LayoutOptions{
		TreeOptions: ownertree.TreeOptions{Depth: o.depth, Up: o.up, Down: o.down, Kinds: q.only, Exclude: q.without},
		Everything:  q.everything(), Related: o.related,
	}
}

// contentsHint is the hint for a namespace, which does not own what is in it; empty unless one was asked for.
func (q *query) contentsHint() string {
	if q.options.output != "" && q.options.output != "wide" {
		return ""
	}
	for _, t := range q.targets {
		if t.Name != "" && t.Kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			return fmt.Sprintf("`%s tree -n %s%s` shows what is in it", q.options.connection.Program, t.Name,
				q.options.connection.RecordingArgs())
		}
	}
	return ""
}
