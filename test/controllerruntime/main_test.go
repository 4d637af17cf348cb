package controllerruntime

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// pluginVariable names the file of the plugin under test, instead of one that is built.
const pluginVariable = "KUBECTL_RECONCILE"

// TestMain puts the plugin on PATH, where others have it already.
func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	if err := runWithPlugin(m); err != nil {
		log.Fatal(err)
	}
}

// runWithPlugin runs the tests, and then looks for goroutines that they have left. It does not report tests that fail:
// m does.
func runWithPlugin(m *testing.M) (err error) {
	dir := filepath.Dir(os.Getenv(pluginVariable))
	if os.Getenv(pluginVariable) == "" {
		if dir, err = os.MkdirTemp("", "kubectl-reconcile-"); err != nil {
			return fmt.Errorf("making a place for the plugin: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if err := build(dir); err != nil {
			return err
		}
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		return fmt.Errorf("putting the plugin on PATH: %w", err)
	}
	if m.Run() != 0 {
		return nil
	}
	// The filter of a metadata cache's watch waits forever for a reader that has ended: controller-runtime's own leak.
	return goleak.Find(goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}

func build(dir string) error {
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/kubectl-reconcile")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	return nil
}
