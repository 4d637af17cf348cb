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

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// completionTimeout bounds how long a completion may take: the user has pressed Tab and waits.
const completionTimeout = 3 * time.Second

// completeConnection completes the connection flags by the names in the kubeconfig and the namespaces of the cluster.
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
	completeNamespace(cmd, f)
}

// completeNamespace completes -n by the namespaces of the cluster.
func completeNamespace(cmd *cobra.Command, f *Flags) {
	namespaces := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return completeFromCluster(cmd.Context(), f, func(ctx context.Context, c *completionCluster) []string {
			return c.namesOf(ctx, "namespaces")
		})
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", namespaces)
}

// CompleteTargets completes arguments: TYPE, then NAMEs that are not given yet; or TYPE/NAME.
func CompleteTargets(f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeFromCluster(cmd.Context(), f, func(ctx context.Context, c *completionCluster) []string {
			pair := len(args) > 0 && strings.Contains(args[0], "/")
			switch typeName, _, slash := strings.Cut(typed, "/"); {
			case slash && (len(args) == 0 || pair):
				return prefixed(typeName+"/", c.namesOf(ctx, typeName))
			case len(args) == 0 || pair:
				before := typed[:strings.LastIndex(typed, ",")+1]
				return prefixed(before, c.types())
			default:
				return without(c.namesOf(ctx, args[0]), args[1:])
			}
		})
	}
}

// CompleteKinds completes a flag that is a comma list by the types that are not in it yet.
func CompleteKinds(cmd *cobra.Command, f *Flags, flag string) {
	offer := func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		there := strings.Split(before, ",")
		missing := func(_ context.Context, c *completionCluster) []string { return without(c.types(), there) }
		names, directive := completeFromCluster(cmd.Context(), f, missing)
		return prefixed(before, names), directive | cobra.ShellCompDirectiveNoSpace
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, offer)
}

// without returns the names, in place, without those that have been given.
func without(names, given []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) })
}

// completionCluster is the cluster that completions come from.
type completionCluster struct {
	*Cluster
	namespace string // of -n, else of the context
}

// completeFromCluster completes by what the cluster has; by nothing if it does not answer in completionTimeout.
func completeFromCluster(
	ctx context.Context, f *Flags, offer func(context.Context, *completionCluster) []string,
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	noStreams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	var files []string
	for _, file := range f.Recording.Files { // cobra parses the flags twice
		files = cli.AppendUnique(files, file)
	}
	f.Recording.Files = files
	connection, err := f.Connect(noStreams)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = connection.Close() }() // nothing was written
	opened, err := connection.Open(ctx, connection.Config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(ctx, &completionCluster{opened, connection.Namespace}), cobra.ShellCompDirectiveNoFileComp
}

// namesOf returns the names of the objects of a type.
func (c *completionCluster) namesOf(ctx context.Context, typeName string) []string {
	kind, err := c.Kinds.Resolve(typeName)
	if err != nil {
		return nil
	}
	return c.names(ctx, NewTarget(kind, c.namespace, ""))
}

// types returns the plural names of all kinds that can be listed, with the group where two share a name, and the
// categories.
func (c *completionCluster) types() []string {
	var out []string
	seen := map[string]int{}
	kinds := slices.DeleteFunc(c.Kinds.All(), func(k cluster.Kind) bool { return !k.Can("list") })
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

// prefixed returns names with a prefix.
func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}
