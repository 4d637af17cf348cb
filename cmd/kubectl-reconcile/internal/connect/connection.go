package connect

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the OIDC provider, and errors that explain which others were removed
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Connection is how to reach the cluster that a command reads, and what errors say about it.
type Connection struct {
	Config         *rest.Config
	Namespace      string           // of -n, else of the context
	namespaceGiven bool             // by -n
	Context        string           // empty in a pod, or if flags alone locate the cluster
	User           string           // its name in the kubeconfig; empty if there is none
	Program        string           // as the user calls it, such as "kubectl reconcile"
	Progress       *render.Progress // shows what Open waits for; may be nil
	// Recording takes the place of the cluster; nil for a cluster.
	Recording     *Recording
	recordingArgs string // --from and --at
}

// Connect reads the kubeconfig and the flags. It sends nothing: Connection.Open makes the first requests. The
// warnings of the API are written to streams.ErrOut. With --from it opens the recording, and writes what that does not
// have. Close must be called at the end.
func (f *Flags) Connect(streams genericiooptions.IOStreams) (*Connection, error) {
	if err := cli.SetUpKlog(render.Normal); err != nil {
		return nil, err
	}
	if err := f.validateRecording(); err != nil {
		return nil, err
	}
	if f.Recording.Given() {
		return f.connectRecording(streams)
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
	if f.Config.WrapConfigFn != nil { // as ConfigFlags.ToRESTConfig does
		c.Config = f.Config.WrapConfigFn(c.Config)
	}
	if c.Config.Host == clientcmd.ClusterDefaults.Server && *f.Config.APIServer == "" &&
		os.Getenv("KUBERNETES_MASTER") == "" {
		if err := unconfigured(raw, loader.ConfigAccess().GetLoadingPrecedence(), c.Program); err != nil {
			return nil, err
		}
	}
	if c.Namespace, c.namespaceGiven, err = loader.Namespace(); err != nil {
		return nil, brokenKubeconfig(err)
	}
	f.tune(c.Config, streams)
	return c, nil
}

// tune sets what kubectl's connection flags do not: the user agent, the rate of requests, timeouts, how large
// answers may be, and where warnings are written.
func (f *Flags) tune(config *rest.Config, streams genericiooptions.IOStreams) {
	config.UserAgent = "kubectl-reconcile/" + cli.Version()
	config.WarningHandler = NewWarnings(streams.ErrOut)
	config.QPS = -1 // no limit: readers bound how many requests run at a time
	if f.qps > 0 {
		burst := f.burst
		if burst <= 0 {
			burst = max(1, int(2*f.qps))
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(f.qps, burst) // shared by all clients of config
	}
	config.Wrap(cluster.LimitAnswers)
	if config.Timeout == 0 && !f.Cmd.Flags().Changed("request-timeout") {
		config.Wrap(limitAnswerTime(firstAnswerTimeout, laterAnswerTimeout))
	}
}

// How long to wait for the beginning of an answer without --request-timeout. A running API server answers the first
// request at once; it gives up on any request after 60 s (--request-timeout of kube-apiserver).
const (
	firstAnswerTimeout = 10 * time.Second
	laterAnswerTimeout = 70 * time.Second
)

// brokenKubeconfig returns the error of a kubeconfig that cannot be used.
func brokenKubeconfig(err error) error {
	const hint = "`kubectl config view` shows what is read; KUBECONFIG and --kubeconfig name other files"
	if errors.Is(err, os.ErrNotExist) {
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			err = fmt.Errorf("%s: no such file or directory", path.Path)
		}
	}
	return cli.WithHint(fmt.Errorf("reading the kubeconfig: %w", err), hint)
}

// knownNames returns an error if the context, the cluster or the user is not in the kubeconfig.
func knownNames(flags *genericclioptions.ConfigFlags, raw clientcmdapi.Config, contextName string) error {
	unknown := func(sort, name string, known []string) error {
		slices.Sort(known)
		more := "the kubeconfig has no " + sort
		if len(known) > 0 {
			more = "the kubeconfig has " + sort + " " + cli.Enumerate(known)
		}
		return cli.WithHint(fmt.Errorf("%s %q does not exist", sort, name), cli.Suggestion(name, known, more))
	}
	switch {
	case contextName != "" && raw.Contexts[contextName] == nil && *flags.ClusterName == "" && *flags.APIServer == "":
		return unknown("context", contextName, slices.Collect(maps.Keys(raw.Contexts)))
	case *flags.ClusterName != "" && raw.Clusters[*flags.ClusterName] == nil:
		return unknown("cluster", *flags.ClusterName, slices.Collect(maps.Keys(raw.Clusters)))
	case *flags.AuthInfoName != "" && raw.AuthInfos[*flags.AuthInfoName] == nil:
		return unknown("user", *flags.AuthInfoName, slices.Collect(maps.Keys(raw.AuthInfos)))
	}
	return nil
}

// unconfigured returns the error of a configuration that names no cluster. kubectl would try localhost:8080.
func unconfigured(raw clientcmdapi.Config, files []string, program string) error {
	if len(raw.Contexts) > 0 {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		const advice = "--context NAME selects one for a command, `kubectl config use-context NAME` for good; " +
			"there are "
		return cli.WithHint(errors.New("no context is selected in the kubeconfig"), advice+cli.Enumerate(names))
	}
	where := ""
	if len(files) > 0 {
		where = ": there is none in " + strings.Join(files, ", ")
	}
	const advice = "set KUBECONFIG or --kubeconfig to the file that configures it; " +
		"`%s run --sandbox -f FILE` needs no cluster"
	return cli.WithHint(fmt.Errorf("no cluster is configured%s", where), fmt.Sprintf(advice, program))
}
