package connect

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Reading shows how far the cluster is read, until the function that it returns is called.
func (s *Cluster) Reading(ctx context.Context, p *render.Progress) (end func()) {
	return p.Show(ctx, func(context.Context) string { return readingText(s.Reader.Progress()) })
}

func readingText(p cluster.Progress) string {
	parts := []string{fmt.Sprintf("%d of %s", p.Done, cli.Plural(p.Kinds, "kind"))}
	switch {
	case p.Expected > p.Objects:
		parts = append(parts, fmt.Sprintf("%d of %d objects", p.Objects, p.Expected))
	case p.Objects > 0:
		parts = append(parts, cli.Plural(p.Objects, "object"))
	}
	return "reading: " + strings.Join(parts, ", ")
}
