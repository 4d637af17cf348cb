package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestDetail(t *testing.T) {
	for _, tt := range []struct {
		verbosity int
		want      render.Detail
		reason    string
	}{
		{0, render.Normal, "without -v"},
		{1, render.Verbose, "-v"},
		{2, render.Everything, "-vv"},
		{7, render.Everything, "there is no more to show than everything"},
	} {
		if got := (&Flags{Verbosity: tt.verbosity}).Detail(); got != tt.want {
			t.Errorf("%d times -v is detail %d, want %d: %s", tt.verbosity, got, tt.want, tt.reason)
		}
	}
}

func TestRateFlags(t *testing.T) {
	for _, tt := range []struct {
		reason string
		flags  RateFlags
		burst  int
		wrong  string
	}{
		{"nothing is given", RateFlags{}, 0, ""},
		{"the proportion of kube-controller-manager's own", RateFlags{QPS: 20}, 30, ""},
		{"at least one", RateFlags{QPS: 0.1}, 1, ""},
		{"both", RateFlags{QPS: 5, burst: 50}, 50, ""},
		{"unlimited", RateFlags{QPS: -1}, 0, ""},
		{"informers send all again", RateFlags{Resync: time.Minute}, 0, ""},
		{"a burst of nothing", RateFlags{burst: 5}, 0, "--burst 5 needs --qps"},
		{"a burst without a limit", RateFlags{QPS: -1, burst: 5}, 0, "needs --qps"},
		{"less than none", RateFlags{burst: -1}, 0, "negative"},
		{"a negative duration", RateFlags{Resync: -time.Second}, 0, "negative"},
		{"all the time", RateFlags{Resync: time.Millisecond}, 0, "less than a second"},
	} {
		err := tt.flags.validate()
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.wrong)
		}
		if err == nil && tt.flags.Burst() != tt.burst {
			t.Errorf("%s: a burst of %d, want %d", tt.reason, tt.flags.Burst(), tt.burst)
		}
	}
}

// TestSandboxOptions: rates are those of the flags.
func TestSandboxOptions(t *testing.T) {
	f := Flags{Controllers: "ttl", Rates: RateFlags{QPS: 20, Resync: time.Minute}}
	o, err := f.SandboxOptions()
	if err != nil || o.QPS != 20 || o.Burst != 30 || o.Resync != time.Minute || len(o.Controllers) != 1 || o.NoScheduling {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestTelemetryFlags(t *testing.T) {
	for _, tt := range []struct {
		reason string
		flags  TelemetryFlags
		want   string // the error; empty for none
	}{
		{"nothing is served", TelemetryFlags{}, ""},
		{"a port of this machine", TelemetryFlags{address: "9090"}, ""},
		{"with a token of one's own", TelemetryFlags{address: ":9090", tokenFile: "token"}, ""},
		{"other machines, with a token", TelemetryFlags{address: "0.0.0.0:9090", tokenFile: "token"}, ""},
		{"other machines, without", TelemetryFlags{address: "10.0.0.1:9090"}, "needs --serve-token-file"},
		{"a token without an address", TelemetryFlags{tokenFile: "token"}, "--serve-token-file needs --serve"},
		{"no address", TelemetryFlags{address: "here"}, `"here" is no address to serve on`},
	} {
		err := tt.flags.validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
		if hint := (*cli.HintError)(nil); err != nil && !errors.As(err, &hint) {
			t.Errorf("%s: no hint", tt.reason)
		}
		if (tt.flags.ToTelemetry() == nil) != (tt.flags.address == "") {
			t.Errorf("%s: serving is %v", tt.reason, tt.flags.ToTelemetry())
		}
	}
}

func TestFlagsAreNotNegative(t *testing.T) {
	for flag, f := range map[string]Flags{
		"": {},
		"--horizontal-pod-autoscaler-sync-period":             {Autoscaling: controllers.Autoscaling{SyncPeriod: -1}},
		"--horizontal-pod-autoscaler-downscale-stabilization": {Autoscaling: controllers.Autoscaling{DownscaleStabilization: -1}},
		"--node-monitor-period":                               {NodeControllers: controllers.NodeControllerOptions{MonitorPeriod: -1}},
		"--node-monitor-grace-period":                         {NodeControllers: controllers.NodeControllerOptions{GracePeriod: -1}},
		"--node-eviction-rate":                                {NodeControllers: controllers.NodeControllerOptions{EvictionRate: -1}},
		"--workers":                                           {Workers: -1},
		"--nodes":                                             {nodes: -1},
		"--pod-ready-after":                                   {podReadyAfter: -1},
	} {
		err := f.Validate()
		if (err == nil) != (flag == "") || err != nil && !strings.HasPrefix(err.Error(), flag+" -1") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
