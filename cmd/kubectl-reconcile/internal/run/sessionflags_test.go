package run

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

func TestDetail(t *testing.T) {
	for _, tt := range []struct {
		verbosity int
		want      render.Detail
		reason    string
	}{
		{0, render.Normal, "as it comes"},
		{1, render.Verbose, "-v"},
		{2, render.Everything, "-vv"},
		{7, render.Everything, "there is no more to show than everything"},
	} {
		if got := (&SessionFlags{Verbosity: tt.verbosity}).detail(); got != tt.want {
			t.Errorf("%d times -v is detail %d, want %d: %s", tt.verbosity, got, tt.want, tt.reason)
		}
	}
}
