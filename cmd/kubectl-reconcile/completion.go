package main

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
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// completeWords offers fixed words for the value of a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// The only error is that of a flag that is not there, which a test of completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeControllers offers the controllers that run here and are not in the comma list yet, also to be left out.
func completeControllers(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("controller", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		last := strings.LastIndex(typed, ",") + 1
		before, sign := typed[:last], ""
		if strings.HasPrefix(typed[last:], "-") {
			sign = "-"
		}
		there := strings.Split(before, ",")
		var out []string
		for _, name := range runningControllers() {
			if !slices.Contains(there, name) && !slices.Contains(there, "-"+name) {
				out = append(out, before+sign+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// runningControllers are the short names of the controllers that run here.
func runningControllers() []string {
	var out []string
	for _, c := range controllers.All() {
		if c.Runs() {
			out = append(out, c.Short)
		}
	}
	return out
}

// completionPatience is how long somebody who has pressed Tab waits for a cluster.
const completionPatience = 3 * time.Second

// completeConnection offers the names of the kubeconfig, and the namespaces of the cluster.
func completeConnection(cmd *cobra.Command, f *clusterFlags) {
	names := func(of func(clientcmdapi.Config) []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			raw, err := f.config.ToRawKubeConfigLoader().RawConfig()
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

// completeTargets offers TYPE, then NAME; or TYPE/NAME.
func completeTargets(f *clusterFlags) cobra.CompletionFunc {
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

// completeKinds offers types that are not in the comma list of a flag yet.
func completeKinds(cmd *cobra.Command, f *clusterFlags, flag string) {
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
	*served
	namespace string // of the command line
}

// completeFromCluster offers what the cluster has, or nothing if it does not answer at once.
func completeFromCluster(ctx context.Context, f *clusterFlags, offer func(context.Context, *completing) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	c, err := f.connect(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	served, err := c.open(ctx, c.config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(ctx, &completing{served, c.namespace}), cobra.ShellCompDirectiveNoFileComp
}

// namesOf are the names of the objects of a type.
func (at *completing) namesOf(ctx context.Context, typeName string) []string {
	kind, err := at.kinds.Resolve(typeName)
	if err != nil {
		return nil
	}
	return at.names(ctx, newTarget(kind, at.namespace, ""))
}

// types are the plural names of all kinds that can be listed, with the group where two share a name, and the categories.
func (at *completing) types() []string {
	var out []string
	seen := map[string]int{}
	kinds := slices.DeleteFunc(at.kinds.All(), func(k cluster.Kind) bool { return !k.Can("list") })
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
