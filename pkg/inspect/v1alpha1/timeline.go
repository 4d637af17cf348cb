package v1alpha1

import "github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"

// The kinds of the documents of `replay`.
const (
	TimelineEntryKind   = "TimelineEntry"
	TimelineSummaryKind = "TimelineSummary"
)

// TimelineEntry is a line of `replay -o json`: something that happened in a recording.
type TimelineEntry struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	timeline.Entry
}

// TimelineSummary is what `replay --summary -o json` prints.
type TimelineSummary struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	timeline.Summary
}
