package envtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// The variables of the environment that add to what envtest has: it passes its own on to the programs that it starts.
const (
	controllersVariable = "KUBECTL_RECONCILE_CONTROLLERS"
	nodesVariable       = "KUBECTL_RECONCILE_NODES"
	traceVariable       = "KUBECTL_RECONCILE_TRACE"
)

// additions are what a control plane has beside what envtest's has.
type additions struct {
	controllers []controllers.Controller
	nodes       int
	// trace is the file that the trace of the controllers is written to; empty for none.
	trace string
}

// readAdditions reads the variables of the environment.
func readAdditions(getenv func(string) string) (additions, error) {
	selected, selectErr := selectControllers(getenv(controllersVariable))
	nodes, nodesErr := readNodes(getenv(nodesVariable))
	out := additions{controllers: selected, nodes: nodes, trace: getenv(traceVariable)}
	err := errors.Join(selectErr, nodesErr)
	if err == nil && out.trace != "" && len(selected) == 0 && nodes == 0 {
		err = cli.WithHint(fmt.Errorf("%s: nothing to trace", traceVariable),
			"it records what controllers do: set "+controllersVariable+"='*' too")
	}
	return out, err
}

// selectControllers returns the controllers of a list of the form of --controller of `sandbox`; an empty list is none.
func selectControllers(list string) ([]controllers.Controller, error) {
	list = strings.ReplaceAll(list, " ", "")
	if list == "" || list == session.NoControllers {
		return nil, nil
	}
	selected, err := controllers.Select(strings.Split(list, ","))
	if err == nil && len(selected) == 0 {
		err = errors.New("it leaves no controller to run")
	}
	if err != nil {
		hint := (*cli.HintError)(nil)
		advice := ""
		if errors.As(session.WithSelectionHint(err), &hint) {
			advice = hint.Hint
		}
		return nil, cli.WithHint(fmt.Errorf("%s=%s: %w", controllersVariable, list, err), advice)
	}
	return selected, nil
}

// readNodes reads the number of simulated nodes.
func readNodes(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, cli.WithHint(fmt.Errorf("%s=%s is not a number of nodes", nodesVariable, text), "for example 3")
	}
	return n, nil
}

// maxTraces bounds the control planes that trace at the same time into the same file name.
const maxTraces = 1000

// openTrace opens a file to write a trace to. %p in its name is the id of the process. A file that another control
// plane is writing to is left to that: this one gets a number, "trace-2.ndjson".
func openTrace(name string) (*os.File, error) {
	name = strings.ReplaceAll(name, "%p", strconv.Itoa(os.Getpid()))
	extension := filepath.Ext(name)
	for n := 1; n <= maxTraces; n++ {
		path := name
		if n > 1 {
			path = strings.TrimSuffix(name, extension) + "-" + strconv.Itoa(n) + extension
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // G304: the user says where
		if err != nil {
			return nil, fmt.Errorf("%s: %w", traceVariable, err)
		}
		if !lock(file) {
			_ = file.Close()
			continue
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			err = file.Truncate(0)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", traceVariable, err), file.Close())
			}
		}
		return file, nil
	}
	return nil, fmt.Errorf("%s: %d control planes write to %q already", traceVariable, maxTraces, name)
}
