package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// narrowFlags are the flags that select a part of the timeline.
type narrowFlags struct {
	namespace                                     string
	objects, trees, kinds, fields, writers, types []string
	since, until                                  string
}

func (f *narrowFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only objects in this namespace")
	flags.StringSliceVar(&f.objects, "object", nil, "only this object, as TYPE/NAME, and Events about it")
	flags.StringSliceVar(&f.trees, "tree", nil,
		"only this object, as TYPE/NAME, all that it has owned at any time, and Events about them")
	flags.StringSliceVar(&f.kinds, "kind", nil,
		"only objects of this kind, such as pods or deploy, and Events about them")
	flags.StringArrayVar(&f.fields, "field", nil,
		"only changes of this field or what is below it, such as spec.replicas or status.conditions[Ready]")
	flags.StringSliceVar(&f.writers, "writer", nil,
		"only what this field manager or controller wrote, and Events that it reported")
	flags.StringSliceVar(&f.types, "type", nil, "only entries of this type, such as ADDED, MODIFIED, DELETED or EVENT")
	flags.StringVar(&f.since, "since", "",
		"begin at this moment: a time such as 14:20:05 or 2026-01-31T14:20:05Z, a resource version, or #N for a number")
	flags.StringVar(&f.until, "until", "", "end after this moment, as --since takes it")
	var names []string
	for _, t := range timeline.Types() {
		names = append(names, string(t))
	}
	cli.CompleteList(cmd, "type", cli.Words(names...))
}

// given returns the first of these flags that was given; empty if none was.
func (f *narrowFlags) given(cmd *cobra.Command) string {
	for _, name := range []string{"namespace", "object", "tree", "kind", "field", "writer", "type", "since", "until"} {
		if cmd.Flags().Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// narrowing is what is shown of a recording.
type narrowing struct {
	filter timeline.Filter
	trees  []timeline.Name
	// since and until are moments as the user wrote them: what they mean depends on the recording.
	since, until string
	// untilFlag is the flag that until was given by.
	untilFlag string
}

func (f *narrowFlags) toNarrowing() (narrowing, error) {
	out := narrowing{
		filter: timeline.Filter{Namespace: f.namespace, Kinds: f.kinds, Writers: f.writers},
		since:  f.since, until: f.until, untilFlag: "--until",
	}
	var err error
	if out.filter.Objects, err = session.ObjectNames("object", f.objects, f.namespace); err != nil {
		return out, err
	}
	if out.trees, err = session.ObjectNames("tree", f.trees, f.namespace); err != nil {
		return out, err
	}
	if out.filter.Fields, err = session.FieldPaths("field", f.fields); err != nil {
		return out, err
	}
	for _, text := range f.types {
		t := timeline.Type(strings.ToUpper(text))
		if !slices.Contains(timeline.Types(), t) {
			var known []string
			for _, one := range timeline.Types() {
				known = append(known, string(one))
			}
			return out, cli.WithHint(cli.UnknownError("type", text),
				cli.Suggestion(strings.ToUpper(text), known, "there are "+strings.Join(known, ", ")))
		}
		out.filter.Types = append(out.filter.Types, t)
	}
	return out, nil
}

// errUnknownKinds returns the error of kinds that a recording does not have; nil if there are none.
func errUnknownKinds(unknown []string, streams []replay.Stream) error {
	var resources []string
	for i := range streams {
		resources = cli.AppendUnique(resources, streams[i].GroupResource().String())
	}
	var errs []error
	for _, name := range unknown {
		hint := cli.Suggestion(name, timeline.KindNames(streams), "")
		if hint == "" && len(resources) > 0 {
			hint = "it has " + cli.Enumerate(resources)
		}
		errs = append(errs, cli.WithHint(fmt.Errorf("the recording has no kind %q", name), hint))
	}
	return errors.Join(errs...)
}
