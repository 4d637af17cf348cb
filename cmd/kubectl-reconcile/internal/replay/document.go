package replay

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// documents is a sink that writes a line of JSON for each entry.
type documents struct{ out io.Writer }

var _ sink = documents{}

// add implements sink.
func (d documents) add(e *timeline.Entry) error {
	line, err := json.Marshal(v1alpha1.TimelineEntry{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.TimelineEntryKind, Entry: *e,
	})
	if err == nil {
		_, err = d.out.Write(append(cli.EscapeControls(line), '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the timeline: %w", err)
	}
	return nil
}

// end implements sink.
func (d documents) end() error { return nil }

// sink returns the sink for the output that was asked for.
func (o *Options) sink(out io.Writer, t *timeline.Timeline) sink {
	switch {
	case o.summary:
		return &summary{out: out, format: o.output, o: o, summarizer: o.summarizer}
	case o.output == "json":
		return documents{out}
	}
	return o.printer(out, t)
}

func (o *Options) printer(out io.Writer, t *timeline.Timeline) *printer {
	return &printer{
		out: out, palette: o.palette, width: o.width, verbose: o.verbose, allFields: o.allFields,
		namespaces: t.SeveralNamespaces,
	}
}
