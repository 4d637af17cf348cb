package input

import (
	"fmt"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// FormNote says what the form of an input does not have, from its header; empty if there is nothing to say.
func FormNote(h replay.Header) string {
	switch h.Imported {
	case replay.ImportedWatchEvents:
		return "watch events have no times: records are numbered"
	case replay.ImportedObjects:
		return "objects without event types: there are no times, and no deletions; kubectl get -w " +
			"--output-watch-events -o json has deletions"
	case replay.ImportedManifests:
		return "lists and manifests are one state: there are no changes"
	case replay.ImportedAudit:
		return "an audit log has only what was written while it was: objects before that are not known"
	}
	return ""
}

// Notes returns lines about what was left out of an input, which is known at its end.
func Notes(info *replay.Info) []string {
	var out []string
	for _, s := range info.Skipped {
		n := fmt.Sprintf("%d writes", s.Count)
		if s.Count == 1 {
			n = "1 write"
		}
		switch s.Reason {
		case replay.SkipNoContent:
			out = append(out, n+" without content left out: their audit level is Metadata or Request, or what they "+
				"deleted was not known")
		case replay.SkipSubresource:
			out = append(out, n+" to subresources left out: the answers are not the objects, as for bindings and "+
				"evictions")
		}
	}
	return out
}
