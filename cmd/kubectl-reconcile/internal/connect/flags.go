package connect

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/version"
)

// oidc, and what to say about the providers that are gone

// Flags are the flags of every command that reads a cluster: kubectl's own, and how its answers are shown. Nothing
// is read or reached before connect.
type Flags struct {
	Config *genericclioptions.ConfigFlags
	qps    float32
	burst  int
	Color  render.ColorMode
	Cmd    *cobra.Command
}

func NewFlags() *Flags {
	return &Flags{Config: genericclioptions.NewConfigFlags(true), Color: render.ColorAuto}
}

func (f *Flags) AddTo(cmd *cobra.Command) {
	f.AddConnection(cmd, func(set *pflag.FlagSet) {
		set.Float32Var(&f.qps, "qps", 0,
			"bound the requests to this many a second; 0 does not, at most 16 run at a time in any case")
		set.IntVar(&f.burst, "burst", 0, "with --qps, how many requests may come at once; 0 is twice as many as --qps")
	})
	cmd.Flags().Var(&f.Color, "color", "colour the output: auto, always or never")
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
}

// AddConnection adds kubectl's flags, which say where the cluster is, and those that more adds to them.
func (f *Flags) AddConnection(cmd *cobra.Command, more func(*pflag.FlagSet)) {
	f.Cmd = cmd
	set := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	f.Config.AddFlags(set)
	more(set)
	set.VisitAll(func(flag *pflag.Flag) { flag.Usage = lowerFirst(flag.Usage) })
	// The kinds are asked for afresh each time, by two requests: a new CRD is there at once.
	_ = set.MarkHidden("cache-dir")
	cmd.Flags().AddFlagSet(set)
	cmd.SetUsageFunc(usageWith("Flags for the cluster, as kubectl has them", set))
	completeConnection(cmd, f)
}

// lowerFirst makes kubectl's sentence about a flag look like ours.
func lowerFirst(usage string) string {
	if len(usage) > 1 && usage[1] >= 'a' && usage[1] <= 'z' {
		usage = string(usage[0]|0x20) + usage[1:]
	}
	if n := len(usage); n > 0 && usage[n-1] == '.' {
		usage = usage[:n-1]
	}
	return usage
}

// usageWith shows the flags of set, which are among the command's, under a title of their own.
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

// Connection is the cluster that a command reads, and what errors say about it.
type Connection struct {
	Config    *rest.Config
	Namespace string // of -n, else of the context
	enforced  bool   // -n was given
	Context   string // empty: the plugin runs in a pod, or flags alone say where the cluster is
	User      string // by its name in the kubeconfig; empty if there is none
	Program   string // as a user calls it
	Progress  *render.Progress
}

// Connect reads the kubeconfig and the flags. It sends nothing: the first request does.
func (f *Flags) Connect(streams genericiooptions.IOStreams) (*Connection, error) {
	if err := cli.SetUpKlog(render.Normal); err != nil {
		return nil, err
	}
	c := &Connection{Program: f.Cmd.Root().DisplayName()}
	loader := f.Config.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, brokenKubeconfig(err)
	}
	c.Context, c.User = raw.CurrentContext, *f.Config.AuthInfoName
	if *f.Config.Context != "" {
		c.Context = *f.Config.Context
	}
	if chosen := raw.Contexts[c.Context]; chosen != nil && c.User == "" {
		c.User = chosen.AuthInfo
	}
	if err := knownNames(f.Config, raw, c.Context); err != nil {
		return nil, err
	}
	if c.Config, err = loader.ClientConfig(); err != nil {
		return nil, brokenKubeconfig(err)
	}
	if c.Config.Host == clientcmd.ClusterDefaults.Server && *f.Config.APIServer == "" && os.Getenv("KUBERNETES_MASTER") == "" {
		if err := unconfigured(raw, loader.ConfigAccess().GetLoadingPrecedence(), c.Program); err != nil {
			return nil, err
		}
	}
	if c.Namespace, c.enforced, err = loader.Namespace(); err != nil {
		return nil, brokenKubeconfig(err)
	}
	f.tune(c.Config, streams)
	return c, nil
}

// tune sets what kubectl's flags do not say: how fast to ask, who asks, how long to wait and where warnings go.
func (f *Flags) tune(config *rest.Config, streams genericiooptions.IOStreams) {
	config.UserAgent = "kubectl-reconcile/" + version.NewInfo().Version
	config.WarningHandler = NewWarnings(streams.ErrOut)
	config.QPS = -1 // readers bound what runs at a time
	if f.qps > 0 {
		burst := f.burst
		if burst <= 0 {
			burst = max(1, int(2*f.qps))
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(f.qps, burst) // one for all clients
	}
	if config.Timeout == 0 && !f.Cmd.Flags().Changed("request-timeout") {
		config.Wrap(answerIn(firstAnswer, laterAnswers))
	}
}

// How long to wait for an answer unless --request-timeout says. An API server answers a first request at once, if it is
// there; it gives up on a request after 60 s (--request-timeout of kube-apiserver).
const (
	firstAnswer  = 10 * time.Second
	laterAnswers = 70 * time.Second
)
