package replay

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/complete"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// complete completes the flags from the recordings that the arguments name.
func (f *narrowFlags) complete(cmd *cobra.Command) {
	cli.Complete(cmd, "namespace", offer(func(ctx context.Context, from *moment.Source, _ string) []string {
		return from.Namespaces(ctx)
	}))
	objects := offer(func(ctx context.Context, from *moment.Source, typed string) []string {
		return complete.Objects(ctx, from, f.namespace, typed)
	})
	cli.CompleteList(cmd, "object", objects)
	cli.CompleteList(cmd, "tree", objects)
	cli.CompleteList(cmd, "kind", offer(func(ctx context.Context, from *moment.Source, typed string) []string {
		return complete.Types(ctx, from, typed)
	}))
	writers := offer(func(ctx context.Context, from *moment.Source, _ string) []string { return from.Writers(ctx) })
	cli.CompleteList(cmd, "writer", writers)
	cli.CompleteList(cmd, "manager", writers)
	cli.Complete(cmd, "field", offer(func(ctx context.Context, from *moment.Source, typed string) []string {
		return fields.CompletePath(typed, from.ObjectsOf(ctx, f.selects)...)
	}))
	cli.CompleteInOrder(cmd, "since", offerMoments)
	cli.CompleteInOrder(cmd, "until", offerMoments)
}

// offer returns an Offer of words that the recordings have which the arguments name; of none if they name none.
func offer(words func(ctx context.Context, from *moment.Source, typed string) []string) cli.Offer {
	return func(ctx context.Context, args []string, typed string) []string {
		if len(args) == 0 {
			return nil
		}
		return words(ctx, moment.SourceOf(args), typed)
	}
}

// offerMoments is an Offer of moments of the recordings that the arguments name.
func offerMoments(ctx context.Context, args []string, typed string) []string {
	return offer(func(ctx context.Context, from *moment.Source, _ string) []string { return from.Moments(ctx) })(
		ctx, args, typed)
}

// selects reports whether the flags select an object, as far as that is known without what it owns.
func (f *narrowFlags) selects(o *moment.Object) bool {
	if f.namespace != "" && o.Record.Namespace != f.namespace {
		return false
	}
	if len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds, func(name string) bool { return isOf(o, name) }) {
		return false
	}
	return len(f.objects) == 0 || slices.ContainsFunc(f.objects, func(text string) bool {
		kind, name, _ := strings.Cut(text, "/")
		return name == o.Record.Name && isOf(o, kind)
	})
}

// isOf reports whether a user may mean the kind of an object by a name.
func isOf(o *moment.Object, name string) bool {
	return timeline.HasKind(name, []replay.Stream{{
		Group: o.Kind.Group, Version: o.Kind.Version, Kind: o.Kind.Kind, Resource: o.Kind.Resource,
		Singular: o.Kind.Singular, ShortNames: o.Kind.ShortNames, Categories: o.Kind.Categories,
	}})
}
