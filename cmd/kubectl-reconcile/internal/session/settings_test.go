package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// TestRecordedSettings: the header of a recording has what its controllers were told, and what was not comes from the
// defaults.
func TestRecordedSettings(t *testing.T) {
	cmd, flags := &cobra.Command{}, &Flags{}
	flags.AddTo(cmd, "")
	args := []string{"--record=a.rec", "--node-eviction-rate=2", "--node-monitor-grace-period=30s", "--workers=3",
		"--horizontal-pod-autoscaler-sync-period=1s"}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	recording, err := flags.Record.ToRecording()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--horizontal-pod-autoscaler-sync-period=1s", "--node-eviction-rate=2", "--node-monitor-grace-period=30s"}
	if diff := cmp.Diff(want, recording.settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	autoscaling, nodes, err := Settings(replay.Header{Options: append([]string{"-A", "--redact=/x/"}, recording.settings...)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(controllers.Autoscaling{SyncPeriod: time.Second}, autoscaling); diff != "" {
		t.Errorf("autoscaling (-want +got):\n%s", diff)
	}
	wantNodes := controllers.NodeControllerOptions{GracePeriod: 30 * time.Second, EvictionRate: 2}
	if diff := cmp.Diff(wantNodes, nodes, cmpopts.IgnoreUnexported(wantNodes)); diff != "" {
		t.Errorf("node controllers (-want +got):\n%s", diff)
	}
}
