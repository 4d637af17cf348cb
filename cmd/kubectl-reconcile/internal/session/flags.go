package session

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/recordfile"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// Flags are the flags that `run` and `sandbox` share: what a session consists of, and how its trace is shown.
type Flags struct {
	// Controllers is the comma list of --controller.
	Controllers string
	Workers     int
	TraceFile   string
	// Record are --record and what belongs to it.
	Record RecordFlags
	Color  render.ColorMode
	// Verbosity counts -v.
	Verbosity int
	// Blocks is --blocks.
	Blocks      bool
	WatchFields WatchFieldFlags
	Narrow      NarrowFlags
	Findings    FindingFlags
	Telemetry   TelemetryFlags
	Rates       RateFlags
	// Autoscaling and NodeControllers are kube-controller-manager's flags of its horizontal pod autoscaler and of the
	// controllers of nodes.
	Autoscaling     controllers.Autoscaling
	NodeControllers controllers.NodeControllerOptions

	nodes         int
	podReadyAfter time.Duration
	metrics       bool
}

// AddTo adds the flags to a command; defaultControllers is the default of --controller.
func (f *Flags) AddTo(cmd *cobra.Command, defaultControllers string) {
	f.Color = render.ColorAuto
	flags := cmd.Flags()
	flags.StringVar(&f.Controllers, "controller", defaultControllers,
		"controllers to run, by the names and aliases of kube-controller-manager; "+
			"'*' is all that can run here, -NAME leaves one out, and in a sandbox the word none runs none")
	flags.IntVar(&f.Workers, "workers", 0,
		"keys that each controller reconciles at a time; "+
			"0 is what kube-controller-manager has, and 4 for the simulated nodes")
	flags.IntVar(&f.nodes, "nodes", 3, "simulated nodes; with 0, pods stay pending")
	flags.DurationVar(&f.podReadyAfter, "pod-ready-after", 200*time.Millisecond,
		"how long a simulated pod runs before it is ready")
	f.addControllerFlags(flags)
	f.Record.settings = func() []string { return controllerSettings(flags) }
	flags.StringVar(&f.TraceFile, "trace-file", "", "write the trace to this `file` too, as JSON, one event a line")
	f.Record.addTo(cmd)
	flags.Var(&f.Color, "color", "colour the output: auto, always or never")
	flags.BoolVar(&f.Blocks, "blocks", false, "show each reconcile that wrote, with its causes, what it decided, "+
		"and the answers, in the place of the story of the run")
	flags.CountVarP(&f.Verbosity, "verbose", "v", "show more: every reconcile, all causes, names, fields "+
		"and reads, and what is logged up to level 4; -vv shows all that is logged")
	f.WatchFields.addTo(cmd)
	f.Narrow.addTo(cmd)
	f.Findings.AddTo(cmd)
	f.Telemetry.addTo(flags)
	f.Rates.addTo(flags)
	cli.CompleteWords(cmd, "color", string(render.ColorAuto), string(render.ColorAlways), string(render.ColorNever))
	CompleteControllers(cmd, controllers.All())
	cli.CompleteFiles(cmd, "trace-file", "serve-token-file")
}

// addControllerFlags adds flags of single controllers, most of them kube-controller-manager's.
func (f *Flags) addControllerFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.metrics, "metrics", false,
		"serve what simulated pods use as metrics.k8s.io, for kubectl top, even if no horizontal pod autoscaler runs")
	flags.DurationVar(&f.Autoscaling.SyncPeriod, "horizontal-pod-autoscaler-sync-period", 0,
		"how often horizontal pod autoscalers look at metrics; 0 is 15s, what kube-controller-manager has")
	flags.DurationVar(&f.Autoscaling.DownscaleStabilization, "horizontal-pod-autoscaler-downscale-stabilization", 0,
		"how long a load must have been low before horizontal pod autoscalers scale down; "+
			"0 is 5m, what kube-controller-manager has")
	flags.DurationVar(&f.NodeControllers.MonitorPeriod, "node-monitor-period", 0,
		"how often node-lifecycle looks at the health of nodes; 0 is 5s, what kube-controller-manager has")
	flags.DurationVar(&f.NodeControllers.GracePeriod, "node-monitor-grace-period", 0,
		"how long a node may be silent before node-lifecycle takes it for unreachable; "+
			"0 is 50s, what kube-controller-manager has")
	flags.Float32Var(&f.NodeControllers.EvictionRate, "node-eviction-rate", 0,
		"nodes a second that node-lifecycle taints because they are not ready; "+
			"0 is 0.1, what kube-controller-manager has")
	flags.IntVar(&f.NodeControllers.TerminatedPods, "terminated-pod-gc-threshold", 0,
		"how many pods that have ended podgc keeps; "+
			"0 is 12500, what kube-controller-manager has, and less than 0 is all")
}

// controllerSettings returns the flags of addControllerFlags that were given.
func controllerSettings(given *pflag.FlagSet) (out []string) {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Flags).addControllerFlags(known)
	given.Visit(func(flag *pflag.Flag) {
		if known.Lookup(flag.Name) != nil {
			out = append(out, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	return out
}

// Validate returns an error for values that make no sense.
func (f *Flags) Validate() error {
	switch {
	case f.Autoscaling.SyncPeriod < 0:
		return negative("horizontal-pod-autoscaler-sync-period", f.Autoscaling.SyncPeriod)
	case f.Autoscaling.DownscaleStabilization < 0:
		return negative("horizontal-pod-autoscaler-downscale-stabilization", f.Autoscaling.DownscaleStabilization)
	case f.NodeControllers.MonitorPeriod < 0:
		return negative("node-monitor-period", f.NodeControllers.MonitorPeriod)
	case f.NodeControllers.GracePeriod < 0:
		return negative("node-monitor-grace-period", f.NodeControllers.GracePeriod)
	case f.NodeControllers.EvictionRate < 0:
		return negative("node-eviction-rate", f.NodeControllers.EvictionRate)
	case f.Workers < 0:
		return negative("workers", f.Workers)
	case f.nodes < 0:
		return negative("nodes", f.nodes)
	case f.podReadyAfter < 0:
		return negative("pod-ready-after", f.podReadyAfter)
	}
	_, findingsErr := f.Findings.ToFindings()
	err := errors.Join(f.Telemetry.validate(), f.Record.validate(), f.WatchFields.validate(), findingsErr)
	if err != nil {
		return err
	}
	return f.Rates.validate()
}

func negative(flag string, value any) error { return fmt.Errorf("--%s %v is negative", flag, value) }

// Detail is how much of a run is shown.
func (f *Flags) Detail() render.Detail {
	return min(render.Normal+render.Detail(f.Verbosity), render.Everything)
}

// SandboxOptions returns the options of a session in the sandbox.
func (f *Flags) SandboxOptions() (runlocal.Options, error) {
	selected, err := SelectControllers(f.Controllers)
	return f.ToOptions(selected), err
}

// ToOptions returns the options of a session with these controllers.
func (f *Flags) ToOptions(selected []controllers.Controller) runlocal.Options {
	return runlocal.Options{
		Controllers:     selected,
		Workers:         f.Workers,
		Nodes:           cmp.Or(f.nodes, runlocal.NoNodes),
		NoScheduling:    len(selected) == 0 && f.nodes == 0,
		PodReadyAfter:   f.podReadyAfter,
		Verbosity:       f.Detail().LogLevel(),
		Autoscaling:     f.Autoscaling,
		NodeControllers: f.NodeControllers,
		Metrics:         f.metrics,
		QPS:             f.Rates.QPS,
		Burst:           f.Rates.Burst(),
		Resync:          f.Rates.Resync,
	}
}

// RecordFlags are --record and what belongs to it.
type RecordFlags struct {
	path   string
	redact recordfile.RedactFlags
	force  bool
	// settings returns the flags that set what single controllers do.
	settings func() []string
}

// forceFlag is not named force: that of run lets controllers write beside others.
const forceFlag = "record-force"

func (f *RecordFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.path, "record", "",
		"record what the API says about objects, and the trace, in this `file`, as the command record does; "+
			"it must not exist yet")
	f.redact.AddTo(flags, "with --record, ")
	flags.BoolVar(&f.force, forceFlag, false, "with --record, replace the file if it exists")
	cli.CompleteFiles(cmd, "record")
}

func (f *RecordFlags) validate() error {
	given := f.redact.Given()
	if f.force {
		given = forceFlag
	}
	if f.path == "" && given != "" {
		return cli.WithHint(fmt.Errorf("--%s needs --record", given), "--record FILE records the session")
	}
	_, err := f.redact.ToRedaction()
	return err
}

// ToRecording returns what is to be recorded; nil if nothing is.
func (f *RecordFlags) ToRecording() (*Recording, error) {
	if f.path == "" {
		return nil, nil
	}
	redaction, err := f.redact.ToRedaction()
	return &Recording{path: f.path, force: f.force, redaction: redaction, settings: f.settings()}, err
}

// Settings returns what the header of a recording says of the settings of controllers.
func Settings(header replay.Header) (controllers.Autoscaling, controllers.NodeControllerOptions, error) {
	var f Flags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // other options
	f.addControllerFlags(flags)
	err := flags.Parse(header.Options)
	return f.Autoscaling, f.NodeControllers, err
}

// RateFlags say how fast controllers may send requests, and how often they get all objects again.
type RateFlags struct {
	QPS    float32
	Resync time.Duration
	burst  int
}

func (f *RateFlags) addTo(flags *pflag.FlagSet) {
	flags.Float32Var(&f.QPS, "qps", 0, "requests a second that each controller may make, beside its informers; "+
		"0 is unlimited in a sandbox, and 20 on a cluster, as kube-controller-manager has; less than 0 is unlimited")
	flags.IntVar(&f.burst, "burst", 0, "with --qps, how many requests may be sent at once; "+
		"0 is one and a half times --qps")
	flags.DurationVar(&f.Resync, "resync", 0,
		"how often informers send all objects to the controllers again; 0 is never")
}

func (f *RateFlags) validate() error {
	switch {
	case f.burst < 0:
		return negative("burst", f.burst)
	case f.burst > 0 && f.QPS <= 0:
		return cli.WithHint(fmt.Errorf("--burst %d needs --qps", f.burst),
			"it is how many of the requests of --qps may be sent at once")
	case f.Resync < 0:
		return negative("resync", f.Resync)
	case f.Resync > 0 && f.Resync < time.Second:
		return fmt.Errorf("--resync %s is less than a second: every controller would look at every object all the time",
			f.Resync)
	}
	return nil
}

// Burst is --burst, or half as much again as --qps, as kube-controller-manager has 20 and 30.
func (f *RateFlags) Burst() int {
	if f.burst > 0 || f.QPS <= 0 {
		return f.burst
	}
	return max(1, int(f.QPS*3/2))
}

// TelemetryFlags say where a session's health, metrics, profiles and trace are served.
type TelemetryFlags struct {
	address   string
	tokenFile string
}

func (f *TelemetryFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "serve", "",
		"serve /healthz, /readyz, /metrics, /trace and /debug/pprof on this address, "+
			"or on this port of this machine; port 0 picks a free one")
	flags.StringVar(&f.tokenFile, "serve-token-file", "",
		"with --serve, the file with the token that clients must send; created if it does not exist; "+
			"by default a temporary one")
}

func (f *TelemetryFlags) validate() error {
	if f.address == "" {
		if f.tokenFile != "" {
			return cli.WithHint(errors.New("--serve-token-file needs --serve"),
				"--serve 9090 serves on that port of this machine")
		}
		return nil
	}
	_, remote, err := telemetry.Address(f.address)
	switch {
	case err != nil:
		return cli.WithHint(fmt.Errorf("--serve: %w", err),
			"for example --serve 9090, or --serve 0.0.0.0:9090 for others to reach")
	case remote && f.tokenFile == "":
		return cli.WithHint(fmt.Errorf("--serve %s lets other machines reach it: it needs --serve-token-file",
			f.address),
			"give the token of the file to those who may connect; or use --serve PORT, which only this machine reaches")
	}
	return nil
}

// ToTelemetry returns what serves telemetry; nil if it is not to be served.
func (f *TelemetryFlags) ToTelemetry() *Telemetry {
	if f.address == "" {
		return nil
	}
	return newTelemetry(f.address, f.tokenFile)
}
