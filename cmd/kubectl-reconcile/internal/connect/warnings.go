package connect

import (
	"fmt"
	"io"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// warnings shows the API's warnings, each once. It implements client-go's rest.WarningHandler.
type warnings struct {
	out io.Writer

	mu    sync.Mutex
	shown map[string]bool
}

func NewWarnings(out io.Writer) *warnings { return &warnings{out: out, shown: map[string]bool{}} }

// warningCode is the code of the warnings that a Kubernetes API gives; others are not for people.
const warningCode = 299

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != warningCode || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.shown[text] {
		w.shown[text] = true
		fmt.Fprintf(w.out, "warning: %s\n", render.Escape(text))
	}
}
