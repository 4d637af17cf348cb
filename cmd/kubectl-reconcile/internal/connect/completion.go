package connect

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/complete"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// RecordingSource returns a moment of recordings to complete from.
type RecordingSource func(files []string, at string) complete.Recording

// completeConnection completes the connection flags by the names in the kubeconfig and the namespaces of the cluster.
func completeConnection(cmd *cobra.Command, f *Flags) {
	for flag, of := range map[string]func(*clientcmdapi.Config) []string{
		"context": func(raw *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Contexts)) },
		"cluster": func(raw *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Clusters)) },
		"user":    func(raw *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.AuthInfos)) },
	} {
		cli.Complete(cmd, flag, func(context.Context, []string, string) []string {
			raw, err := f.Config.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil
			}
			return slices.Sorted(slices.Values(of(&raw)))
		})
	}
	cli.CompleteFiles(cmd, "kubeconfig", "certificate-authority", "client-certificate", "client-key")
	cli.Complete(cmd, "namespace", f.OfferNamespaces())
}

// offer returns an Offer that is made of what the flags select, and is empty if that is nothing.
func (f *Flags) offer(
	words func(ctx context.Context, from complete.Source, args []string, typed string) []string,
) cli.Offer {
	return func(ctx context.Context, args []string, typed string) []string {
		if from := f.source(); from != nil {
			return words(ctx, from, args, typed)
		}
		return nil
	}
}

// OfferNamespaces returns an Offer of namespaces.
func (f *Flags) OfferNamespaces() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, _ []string, _ string) []string {
		return from.Namespaces(ctx)
	})
}

// OfferTypes returns an Offer of kinds.
func (f *Flags) OfferTypes() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, _ []string, typed string) []string {
		return complete.Types(ctx, from, typed)
	})
}

// OfferGroupVersionKinds returns an Offer of kinds as kubectl apply --prune-allowlist takes them.
func (f *Flags) OfferGroupVersionKinds() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, _ []string, _ string) []string {
		return complete.GroupVersionKinds(ctx, from)
	})
}

// OfferFields returns an Offer of the paths of the fields of the object that the arguments name.
func (f *Flags) OfferFields() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, args []string, typed string) []string {
		return complete.Fields(ctx, from, f.namespaceIn(ctx, from), args, typed)
	})
}

// OfferMoments returns an Offer of moments of the recordings of --from.
func (f *Flags) OfferMoments() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, _ []string, _ string) []string {
		if recorded, ok := from.(complete.Recording); ok {
			return recorded.Moments(ctx)
		}
		return nil
	})
}

// OfferTargets returns an Offer of TYPE, TYPE/NAME, and after TYPE of NAMEs.
func (f *Flags) OfferTargets() cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, args []string, typed string) []string {
		return complete.Targets(ctx, from, f.namespaceIn(ctx, from), args, typed)
	})
}

// OfferTarget is OfferTargets for a command that takes one object.
func (f *Flags) OfferTarget() cli.Offer {
	targets := f.OfferTargets()
	return func(ctx context.Context, args []string, typed string) []string {
		if len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/") {
			return nil
		}
		return targets(ctx, args, typed)
	}
}

// OfferSelections returns an Offer of comma lists of TYPE and TYPE/NAME. more are other words that the only argument
// may be.
func (f *Flags) OfferSelections(more ...string) cli.Offer {
	return f.offer(func(ctx context.Context, from complete.Source, args []string, typed string) []string {
		return complete.Selections(ctx, from, f.namespaceIn(ctx, from), args, typed, more...)
	})
}

// source returns what the flags select; nil if there is nothing, or if it cannot be opened.
func (f *Flags) source() complete.Source {
	files, at := f.Recording.Files, f.Recording.At
	if f.completeFrom != nil {
		files, at = f.completeFrom()
	}
	if len(files) > 0 {
		return f.Recording.source(files, at)
	}
	if f.Cmd.Flags().Lookup("kubeconfig") == nil {
		return nil // the command reads no cluster
	}
	flags := *f
	flags.Recording = RecordingFlags{} // --from may still be typed
	connection, err := flags.Connect(genericiooptions.IOStreams{
		In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard,
	})
	if err != nil {
		return nil
	}
	if exec := connection.Config.ExecProvider; exec != nil {
		exec.StdinUnavailable = true // the terminal is the shell's: a program that would ask for a password fails
	}
	return &clusterSource{connection: connection}
}

// namespaceIn returns the namespace in which names are looked for; empty with -A.
func (f *Flags) namespaceIn(ctx context.Context, from complete.Source) string {
	if all, err := f.Cmd.Flags().GetBool("all-namespaces"); err == nil && all {
		return ""
	}
	return cmp.Or(*f.Config.Namespace, from.Namespace(ctx))
}

// clusterSource is a cluster whose kinds are discovered when they are asked for. It may not be used concurrently.
type clusterSource struct {
	connection *Connection
	opened     *Cluster // nil before the first use
}

var _ complete.Source = (*clusterSource)(nil)

// cluster returns the cluster; nil if it does not answer.
func (c *clusterSource) cluster(ctx context.Context) *Cluster {
	if c.opened == nil {
		opened, err := c.connection.Open(ctx, c.connection.Config)
		if err != nil {
			return nil
		}
		c.opened = opened
	}
	return c.opened
}

// Namespace implements complete.Source.
func (c *clusterSource) Namespace(context.Context) string { return c.connection.Namespace }

// Kinds implements complete.Source: those that can be listed.
func (c *clusterSource) Kinds(ctx context.Context) []cluster.Kind {
	opened := c.cluster(ctx)
	if opened == nil {
		return nil
	}
	return slices.DeleteFunc(opened.Kinds.All(), func(k cluster.Kind) bool { return !k.Can("list") })
}

// Resolve implements complete.Source.
func (c *clusterSource) Resolve(ctx context.Context, word string) []cluster.Kind {
	opened := c.cluster(ctx)
	if opened == nil {
		return nil
	}
	kinds, err := opened.Kinds.ResolveAll(word)
	if err != nil {
		return nil
	}
	return kinds
}

// Names implements complete.Source. It reads metadata only.
func (c *clusterSource) Names(ctx context.Context, target cluster.Target) []string {
	opened := c.cluster(ctx)
	if opened == nil {
		return nil
	}
	return opened.names(ctx, Target{Target: target})
}

// Namespaces implements complete.Source. It needs no discovery.
func (c *clusterSource) Namespaces(ctx context.Context) []string {
	reader, err := cluster.NewReader(c.connection.Config)
	if err != nil {
		return nil
	}
	kind := cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Resource: "namespaces",
		Verbs: []string{"get", "list", "watch"},
	}
	return (&Cluster{Reader: reader}).names(ctx, NewTarget(kind, "", ""))
}

// Object implements complete.Source.
func (c *clusterSource) Object(ctx context.Context, target cluster.Target, name string) *unstructured.Unstructured {
	opened := c.cluster(ctx)
	if opened == nil {
		return nil
	}
	obj, err := opened.Reader.Object(ctx, target.Kind, target.Namespace, name)
	if err != nil {
		return nil
	}
	return obj
}
