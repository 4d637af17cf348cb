package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// version is set by the linker for releases; otherwise the build info tells.
var version string

// versionInfo is what `version -o json` prints.
type versionInfo struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetesVersion"`
	Go         string `json:"goVersion"`
	Platform   string `json:"platform"`
}

func newVersionInfo() versionInfo {
	info := versionInfo{
		APIVersion: outputVersion,
		Kind:       "Version",
		Version:    version,
		Kubernetes: api.KubernetesVersion(),
		Go:         runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			info.Commit = s.Value
		}
	}
	return info
}

func newVersionCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin and of the Kubernetes that it carries",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return printVersion(streams, newVersionInfo(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml")
	return cmd
}

func printVersion(streams genericiooptions.IOStreams, info versionInfo, output string) error {
	var text []byte
	var err error
	switch output {
	case "":
		text = fmt.Appendf(nil, "kubectl-reconcile %s\nKubernetes %s, %s, %s\n", info.Version, info.Kubernetes, info.Go, info.Platform)
	case "json":
		text, err = json.MarshalIndent(info, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(info)
	default:
		return fmt.Errorf("unknown output format %q: json and yaml are known", output)
	}
	if err != nil {
		return fmt.Errorf("writing the version: %w", err)
	}
	_, err = streams.Out.Write(text)
	return err
}
