package connect

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// Flags are the flags of every command that reads a cluster: kubectl's connection flags, and --color. Before Connect
// nothing is read or sent.
type Flags struct {
	Config *genericclioptions.ConfigFlags
	qps    float32
	burst  int
	Color  render.ColorMode
	Cmd    *cobra.Command // that the flags were added to
	// Recording are --from and --at, if AddRecordingFlags was called.
	Recording RecordingFlags

	completeFrom func() (files []string, at string) // nil for those of Recording
}

// NewFlags returns Flags with their defaults.
func NewFlags() *Flags {
	return &Flags{Config: genericclioptions.NewConfigFlags(true), Color: render.ColorAuto}
}

// AddTo adds the flags, with --qps and --burst, to a command, and their completions.
func (f *Flags) AddTo(cmd *cobra.Command) {
	f.AddConnectionFlags(cmd, func(set *pflag.FlagSet) {
		set.Float32Var(&f.qps, "qps", 0,
			"at most this many requests a second; 0 is no limit; at most 16 run at a time in any case")
		set.IntVar(&f.burst, "burst", 0, "with --qps, how many requests may come at once; 0 is twice as many as --qps")
	})
	cmd.Flags().Var(&f.Color, "color", "colour the output: auto, always or never")
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
}

// clusterSection is the title of the section of the connection flags.
const clusterSection = "Flags for the cluster, as kubectl has them"

// AddConnectionFlags adds kubectl's connection flags, and those that more adds, to a command. They have their own
// section in the usage of the command, below its other flags.
func (f *Flags) AddConnectionFlags(cmd *cobra.Command, more func(*pflag.FlagSet)) {
	f.Cmd = cmd
	set := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	f.Config.AddFlags(set)
	more(set)
	set.VisitAll(func(flag *pflag.Flag) { flag.Usage = lowerFirst(flag.Usage) })
	// Discovery is not cached: it takes two requests, and a new CRD is found at once.
	_ = set.MarkHidden("cache-dir")
	cmd.Flags().AddFlagSet(set)
	cli.SetSection(set, clusterSection)
	cmd.SetUsageFunc(usageWith(clusterSection, set))
	completeConnection(cmd, f)
}

// AddNamespace adds -n alone, to a command that reads no cluster.
func (f *Flags) AddNamespace(cmd *cobra.Command) {
	f.Cmd = cmd
	cmd.Flags().StringVarP(f.Config.Namespace, "namespace", "n", "", "the namespace of the objects")
	cli.Complete(cmd, "namespace", f.OfferNamespaces())
}

// lowerFirst writes the usage of a flag of kubectl as those of this program are: in lower case and without a full stop.
func lowerFirst(usage string) string {
	if len(usage) > 1 && usage[1] >= 'a' && usage[1] <= 'z' {
		usage = string(usage[0]|0x20) + usage[1:]
	}
	if n := len(usage); n > 0 && usage[n-1] == '.' {
		usage = usage[:n-1]
	}
	return usage
}

// usageWith returns a usage function that shows the flags of set, which are among those of the command, under a title.
func usageWith(title string, set *pflag.FlagSet) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		var shown []*pflag.Flag
		set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				shown = append(shown, flag)
			}
		})
		hide := func(hidden bool) {
			for _, flag := range shown {
				flag.Hidden = hidden
			}
		}
		hide(true)
		err := cmd.Parent().UsageFunc()(cmd)
		hide(false)
		if err == nil {
			fmt.Fprintf(cmd.OutOrStderr(), "\n%s:\n%s", title, set.FlagUsages())
		}
		return err
	}
}

// clusterFlags are the flags that select the cluster and the user, in the order in which they are written.
var clusterFlags = []string{
	"kubeconfig", "context", "cluster", "server", "tls-server-name", "certificate-authority",
	"insecure-skip-tls-verify", "user", "client-certificate", "client-key", "token", "as",
	"as-group", "as-uid", "as-user-extra",
}

// Args returns those flags that select the cluster and the user, or the recording, as they were given, to be given to
// another command: each with a blank before it. The value of a token is left for the user to fill in.
func (f *Flags) Args() string {
	if f.Recording.Given() {
		return f.Recording.Args()
	}
	return clusterArgs(f.Cmd.Flags())
}

func clusterArgs(flags *pflag.FlagSet) string {
	var out strings.Builder
	for _, name := range clusterFlags {
		flag := flags.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case name == "token":
				out.WriteString(" --token TOKEN")
			case flag.NoOptDefVal != "":
				out.WriteString(" --" + name + "=" + cli.ShellQuoted(value))
			default:
				out.WriteString(" --" + name + " " + cli.ShellQuoted(value))
			}
		}
	}
	return out.String()
}
