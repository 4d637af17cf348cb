package controllerruntime

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is how long anything may take before a test gives up on it; a machine that does much else is slow.
const patience = 3 * time.Minute

// apiAlone are the flags of a sandbox that stands in for envtest: an API server without controllers, nodes and
// ServiceAccount admission.
func apiAlone() []string {
	return []string{"--controller", "none", "--nodes", "0", "--disable-admission-plugins", "ServiceAccount"}
}

// startSandbox starts an API server for one test, installs the CRD in it, and ends it with the test. What the test
// starts against it must end in a t.Cleanup: those run in reverse order.
func startSandbox(t *testing.T, flags ...string) *rest.Config {
	t.Helper()
	config := startProcess(t, flags...)
	// What envtest does beside starting an API server works as always; it need only be told that there is one.
	environment := &envtest.Environment{
		UseExistingCluster: new(true), Config: config,
		CRDDirectoryPaths: []string{"website"}, ErrorIfCRDPathMissing: true,
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil { // removes a folder of certificates
			t.Error(err)
		}
	})
	if _, err := environment.Start(); err != nil {
		t.Fatalf("installing the CRD: %v", err)
	}
	return config
}

// startProcess runs `kubectl-reconcile sandbox` until the test ends, also if it fails or panics.
func startProcess(t *testing.T, flags ...string) *rest.Config {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context())) // t.Context ends before cleanups, too early
	cmd := exec.CommandContext(ctx, "kubectl-reconcile", append([]string{"sandbox", "--kubeconfig-out", kubeconfig}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience // then it is killed
	endWithParent(cmd)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := cmd.Wait(); !cmd.ProcessState.Success() {
			t.Errorf("the sandbox ended with %v (%v):\n%s", cmd.ProcessState, err, &messages)
		}
	})

	late := time.AfterFunc(patience, stop)
	defer late.Stop()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // the line that exports KUBECONFIG: it is ready
		t.Fatalf("waiting for the sandbox: %v", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // tests are not to be throttled
	return config
}
