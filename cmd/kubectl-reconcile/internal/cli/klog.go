package cli

import (
	"flag"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// SetUpKlog decides what upstream's libraries may print on stderr past all contexts: nothing, since what belongs to a
// reconcile is in the trace, unless everything is asked for. klog is one for the process, so this is called once, by a command.
func SetUpKlog(detail render.Detail) error {
	settings := map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"}
	if detail >= render.Everything {
		settings = map[string]string{"logtostderr": "true", "v": "4"}
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	for name, value := range settings {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("setting up the log of libraries: %w", err)
		}
	}
	return nil
}
