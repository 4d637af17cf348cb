package connect

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// completionPatience is how long somebody who has pressed Tab waits for a cluster.
const completionPatience = 3 * time.Second

// completeConnection offers the names of the kubeconfig, and the namespaces of the cluster.
func completeConnection(cmd *cobra.Command, f *Flags) {
	names := func(of func(clientcmdapi.Config) []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			raw, err := f.Config.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Sorted(slices.Values(of(raw))), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, of := range map[string]func(clientcmdapi.Config) []string{
		"context": func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Contexts)) },
		"cluster": func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Clusters)) },
		"user":    func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.AuthInfos)) },
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, names(of))
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return completeFromCluster(cmd.Context(), f, func(ctx context.Context, at *completing) []string {
			return at.namesOf(ctx, "namespaces")
		})
	})
}

// CompleteTargets offers TYPE, then NAME; or TYPE/NAME.
func CompleteTargets(f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeFromCluster(cmd.Context(), f, func(ctx context.Context, at *completing) []string {
			pair := len(args) > 0 && strings.Contains(args[0], "/")
			switch typeName, _, slash := strings.Cut(typed, "/"); {
			case slash && (len(args) == 0 || pair):
				return prefixed(typeName+"/", at.namesOf(ctx, typeName))
			case len(args) == 0 || pair:
				before := typed[:strings.LastIndex(typed, ",")+1]
				return prefixed(before, at.types())
			default:
				return slices.DeleteFunc(at.namesOf(ctx, args[0]), func(name string) bool { return slices.Contains(args[1:], name) })
			}
		})
	}
}

// CompleteKinds offers types that are not in the comma list of a flag yet.
func CompleteKinds(cmd *cobra.Command, f *Flags, flag string) {
	offer := func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		there := strings.Split(before, ",")
		names, directive := completeFromCluster(cmd.Context(), f, func(_ context.Context, at *completing) []string {
			return slices.DeleteFunc(at.types(), func(name string) bool { return slices.Contains(there, name) })
		})
		return prefixed(before, names), directive | cobra.ShellCompDirectiveNoSpace
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, offer)
}

// completing is a cluster that completions come from.
type completing struct {
	*Cluster
	namespace string // of the command line
}

// completeFromCluster offers what the cluster has, or nothing if it does not answer at once.
func completeFromCluster(ctx context.Context, f *Flags, offer func(context.Context, *completing) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	c, err := f.Connect(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	served, err := c.Open(ctx, c.Config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(ctx, &completing{served, c.Namespace}), cobra.ShellCompDirectiveNoFileComp
}

// namesOf are the names of the objects of a type.
func (at *completing) namesOf(ctx context.Context, typeName string) []string {
	kind, err := at.Kinds.Resolve(typeName)
	if err != nil {
		return nil
	}
	return at.names(ctx, NewTarget(kind, at.namespace, ""))
}

// Types are the plural names of all kinds that can be listed, with the group where two share a name, and the categories.
func (at *completing) types() []string {
	var out []string
	seen := map[string]int{}
	kinds := slices.DeleteFunc(at.Kinds.All(), func(k cluster.Kind) bool { return !k.Can("list") })
	for _, k := range kinds {
		seen[k.Resource]++
		out = append(out, k.Categories...)
	}
	for _, k := range kinds {
		if seen[k.Resource] > 1 && k.Group != "" {
			out = append(out, k.GroupResource().String())
		} else {
			out = append(out, k.Resource)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}
