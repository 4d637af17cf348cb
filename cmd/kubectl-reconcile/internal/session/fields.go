package session

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// watchFieldFlag is the name of the flag of WatchFieldFlags.
const watchFieldFlag = "watch-field"

// WatchFieldFlags are the fields that are followed in the place of the story of the run.
type WatchFieldFlags struct {
	paths []string
	flags *pflag.FlagSet // all of the command
}

func (f *WatchFieldFlags) addTo(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	f.flags.StringArrayVar(&f.paths, watchFieldFlag, nil,
		"show each change of this field, or of what is below it, such as spec.replicas or "+
			"status.conditions[Ready].status, in the place of the story: of which object, who wrote it, and in "+
			"reaction to what (not with -v, --blocks, --events, -q or -o); "+
			"only objects of kinds that the controllers of the run watch are seen")
	cli.CompleteWords(cmd, watchFieldFlag, "spec.replicas", "status.readyReplicas", "status.phase",
		"status.conditions[Ready].status", "metadata.deletionTimestamp", "metadata.finalizers",
		"metadata.ownerReferences")
}

// validate returns an error if a path is wrong, or another flag asks for another output of the run.
func (f *WatchFieldFlags) validate() error {
	if len(f.paths) == 0 {
		return nil
	}
	for _, other := range []string{"blocks", "verbose", "events", "quiet", "output"} {
		if f.flags.Changed(other) {
			return cli.WithHint(fmt.Errorf("--%s and --%s exclude each other", watchFieldFlag, other),
				"changes of fields are shown in the place of all else but the summary; "+
					"--trace-file writes the whole trace")
		}
	}
	_, err := f.ToPaths()
	return err
}

// ToPaths returns Options.WatchFields.
func (f *WatchFieldFlags) ToPaths() ([]string, error) { return FieldPaths(watchFieldFlag, f.paths) }

// newFieldLines returns the output that follows fields.
func (o *Options) newFieldLines() *render.FieldLines {
	return render.NewFieldLines(o.Streams.Out, render.FieldLinesOptions{
		Fields: o.WatchFields, Palette: o.Palette, FieldManager: o.author(), Namespace: o.Namespace,
		Width: render.TerminalWidth(o.Streams.Out),
	})
}

// FieldPaths parses the values of a flag that names fields, and returns them as fields.Path.String does.
func FieldPaths(flag string, texts []string) ([]string, error) {
	var out []string
	for _, text := range texts {
		path, err := fields.ParsePath(text)
		if name, _, _ := strings.Cut(text, "["); err == nil && strings.ContainsAny(name, ", $") {
			err = fmt.Errorf("%q is not the path of one field", text)
		}
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("--%s: %w", flag, err),
				"for example spec.replicas, spec.template.spec.containers[web].image or "+
					"metadata.labels[app.kubernetes.io/name]")
		}
		out = append(out, path.String())
	}
	return out, nil
}
