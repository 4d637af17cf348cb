package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// infoKind is the kind of an Info.
const infoKind = "Version"

// Info is what `version -o json` prints.
type Info struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Version is that of a release, or of the module; "(devel)" for a build of a checkout.
	Version string `json:"version"`
	// Commit is what was built; absent if it is not known.
	Commit string `json:"commit,omitempty"`
	// Kubernetes is the version whose controllers and API the program contains.
	Kubernetes string `json:"kubernetesVersion"`
	Go         string `json:"goVersion"`
	// Platform is the operating system and the architecture: linux/amd64.
	Platform string `json:"platform"`
}

// NewInfo returns the versions of this program. Commit is empty if it was not built from a checkout.
func NewInfo() Info {
	info := Info{
		APIVersion: v1alpha1.APIVersion,
		Kind:       infoKind,
		Version:    cli.Version(),
		Kubernetes: api.KubernetesVersion(),
		Go:         runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			info.Commit = s.Value
		}
	}
	return info
}

// NewCommand returns the command `version`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin and of the Kubernetes that it contains",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(streams, NewInfo(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml")
	cli.CompleteWords(cmd, "output", outputs...)
	return cmd
}

// outputs are the values of -o.
var outputs = []string{"json", "yaml"}

func printVersion(streams genericiooptions.IOStreams, info Info, output string) error {
	if err := cli.CheckOutput(output, outputs, "text"); err != nil {
		return err
	}
	if output != "" {
		return cli.WriteDocument(streams.Out, output, info)
	}
	_, err := fmt.Fprintf(streams.Out, "kubectl-reconcile %s\nKubernetes %s, %s, %s\n",
		info.Version, info.Kubernetes, info.Go, info.Platform)
	return err
}
