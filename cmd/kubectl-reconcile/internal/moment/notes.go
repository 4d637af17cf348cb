package moment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// absence is a kind of which objects were recorded and cannot be served, all of them if count is 0, and why.
type absence struct {
	resource schema.GroupResource
	count    int
	why      string
}

// Notes returns lines about what is not there at a moment, although its kind was recorded.
func Notes(info *replay.Info, m replay.Moment, state *replay.State) []string {
	return notes(info, m, state, nil)
}

func notes(info *replay.Info, m replay.Moment, state *replay.State, absent []absence) []string {
	var out []string
	if note := input.FormNote(info.Header); note != "" && info.Header.Imported != replay.ImportedManifests {
		out = append(out, note)
	}
	out = append(out, input.Notes(info)...)
	if text := scopeText(state); text != "" {
		out = append(out, "recorded: only "+text)
	}
	var unlisted []string
	for _, s := range state.Streams() {
		if !s.Listed && info.Header.Imported == "" { // of imports, that is said by FormNote
			unlisted = cli.AppendUnique(unlisted, s.GroupResource().String())
		}
	}
	if len(unlisted) > 0 {
		out = append(out,
			fmt.Sprintf("incomplete: the first list of %s had not come to its end", cli.Enumerate(unlisted)))
	}
	for _, a := range absent {
		what := a.resource.String()
		if a.count > 0 {
			what = cli.Plural(a.count, "object") + " of " + what
		}
		out = append(out, fmt.Sprintf("incomplete: %s: %s", what, a.why))
	}
	if at, timed := TimeOf(state, m); timed {
		out = append(out, gapNotes(info, at)...)
	}
	if info.Torn != nil {
		out = append(out, "incomplete: "+info.Torn.Error())
	}
	return out
}

// gapNotes says that nothing was received at a time, if that is so: events that arrived later have later times.
func gapNotes(info *replay.Info, at time.Time) []string {
	for i := range info.Gaps {
		end, gap := info.Gaps[i].Time, info.Gaps[i].Gap
		if gap != nil && !at.Before(gap.Since) && at.Before(end) {
			return []string{fmt.Sprintf("incomplete: nothing was received from %s to %s: the objects are as of before",
				formatTime(gap.Since), formatTime(end))}
		}
	}
	return nil
}

// scopeText says in which namespaces and with which selectors objects were recorded; empty if all were. The objects
// that a recorder adds by name, the namespace itself and the definitions of custom resources, are no selection of the
// user.
func scopeText(state *replay.State) string {
	const named = " " + metav1.ObjectNameField + "="
	var namespaces, selectors []string
	added := map[string]bool{}
	for _, s := range state.Streams() {
		if s.Namespace != "" {
			namespaces = cli.AppendUnique(namespaces, s.Namespace)
		}
		added["namespaces"+named+s.Namespace] = true
		added["customresourcedefinitions.apiextensions.k8s.io"+named+s.GroupResource().String()] = true
	}
	for _, s := range state.Streams() {
		if added[s.GroupResource().String()+" "+s.Fields] {
			continue
		}
		for _, selector := range []string{s.Labels, s.Fields} {
			if selector != "" {
				selectors = cli.AppendUnique(selectors, selector)
			}
		}
	}
	var parts []string
	if len(namespaces) > 0 {
		slices.Sort(namespaces)
		parts = append(parts, "namespace "+cli.Enumerate(namespaces))
	}
	if len(selectors) > 0 {
		slices.Sort(selectors)
		parts = append(parts, "objects with "+cli.Enumerate(selectors))
	}
	return strings.Join(parts, ", ")
}

// recordedKinds returns the kinds that were recorded, sorted.
func recordedKinds(state *replay.State) []string {
	var out []string
	for _, s := range state.Streams() {
		out = cli.AppendUnique(out, s.GroupResource().String())
	}
	slices.Sort(out)
	return out
}
