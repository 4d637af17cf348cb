package v1alpha1

import (
	"flag"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the schemas")

// policies are the values of metav1.DeletionPropagation.
var policies = schematest.Enum(metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)

// typeSchemas are the types whose values are fewer than Go's type allows.
var typeSchemas = map[string]schematest.Schema{
	"v1.Time":                {"type": []string{"string", "null"}, "format": "date-time"},
	"v1.DeletionPropagation": policies,
	"v1.PersistentVolumeClaimRetentionPolicyType": schematest.Enum("Retain", "Delete"),
	"v1.PersistentVolumeReclaimPolicy":            schematest.Enum("Retain", "Delete", "Recycle"),
	"inspect.DriftState":                          schematest.Enum(inspect.InSync, inspect.Behind, inspect.NotReported, inspect.Ahead, inspect.NeverSeen),
	"inspect.Polarity":                            schematest.Enum(inspect.Positive, inspect.Negative, inspect.Neutral),
	"inspect.Certainty":                           schematest.Enum(inspect.Certain, inspect.Likely, inspect.Possible),
	"fields.Ownership":                            schematest.Enum(fields.OwnsField, fields.OwnsPart, fields.OwnsContaining),
	"time.Time":                                   {"type": "string", "format": "date-time"},
	"trace.Duration":                              {"type": "string", "pattern": schematest.DurationPattern},
	"timeline.Type":                               schematest.Enum(timeline.Types()...),
	"findings.Only":                               schematest.Enum(findings.OnlyOrder, findings.OnlyTimes, findings.OnlyOrderAndTimes),
	"findings.Type":                               schematest.Enum(findings.Types()...),
	"timeline.ReadyCause": schematest.Enum(timeline.ReadyCreated, timeline.ReadySpecChanged, timeline.ReadyLost,
		timeline.ReadyExisting),
	"replay.GapReason": schematest.Enum(replay.GapWatchExpired, replay.GapUnreachable, replay.GapRefused, replay.GapSleep),
	"replay.Imported": schematest.Enum(replay.ImportedWatchEvents, replay.ImportedObjects, replay.ImportedManifests,
		replay.ImportedAudit),
	"inspect.EvidenceSource": schematest.Enum(inspect.FromField, inspect.FromCondition, inspect.FromEvent, inspect.FromLease, inspect.FromWriter,
		inspect.FromObject, inspect.FromController),
}

// fieldSchemas are the fields whose values are fewer than their type allows.
var fieldSchemas = map[string]schematest.Schema{
	"OwnerTree.Kind":       {"const": OwnerTreeKind},
	"DeletePreview.Kind":   {"const": DeletePreviewKind},
	"StatusList.Kind":      {"const": StatusListKind},
	"StatusEvent.Kind":     {"const": StatusEventKind},
	"Plan.Kind":            {"const": PlanKind},
	"Comparison.Kind":      {"const": ComparisonKind},
	"TimelineEntry.Kind":   {"const": TimelineEntryKind},
	"TimelineSummary.Kind": {"const": TimelineSummaryKind},
	"Change.Old":           {}, // any JSON value
	"Change.New":           {},
	"Plan.End":             schematest.Enum("settled", "next", "steps", "loop", "limit"),
	"PlanWrite.Verb":       schematest.Enum("create", "update", "delete"),
	"TriedWrite.Answer":    schematest.Enum(TrialAccepted, TrialRefused, TrialNotPermitted, TrialNotSupported),
	"PlanObject.Verb":      schematest.Enum("create", "update", "delete"),
	"PlanCause.Type":       schematest.Enum("watch", "retry", "timer", "reconcile", "other"),
	"PlanCause.Event":      schematest.Enum("ADDED", "MODIFIED", "DELETED", "RESYNC"),
	"Diagnosis.Kind":       {"const": DiagnosisKind},
	"FieldBlame.Kind":      {"const": FieldBlameKind},
	"FieldBlame.Value":     {}, // any JSON value
	"StatusEvent.Type":     schematest.Enum("ADDED", "MODIFIED", "DELETED"),
	"Owner.Verdict": schematest.Enum(ownertree.Solid, ownertree.OwnerMissing, ownertree.OtherUID, ownertree.OtherNamespace,
		ownertree.UnmappableKind, ownertree.Unknown),
	"GarbageCollection.Action": schematest.Enum(ownertree.ReferencesStripped, ownertree.Deleted, ownertree.DeletedWithOwner, ownertree.BeingDeleted,
		ownertree.NeverCollected, ownertree.GCUnknown), // Kept is not written
	"Event.Type":           schematest.Enum("Normal", "Warning"),
	"Event.Count":          {"type": "integer", "minimum": 1},
	"TreeObject.Truncated": {"type": "integer", "minimum": 1},
	"Status.Status": schematest.Enum(inspect.Current, inspect.InProgress, inspect.Failed, inspect.Terminating, inspect.Unknown, inspect.Suspended,
		inspect.Degraded),
	"Status.Ready":    {"type": "string", "pattern": "^-?[0-9]+/-?[0-9]+$"},
	"Status.JudgedBy": schematest.Enum(inspect.BuiltIn, inspect.ArgoCD, inspect.Generic),
	"Container.Type":  schematest.Enum(inspect.MainContainer, inspect.InitContainer, inspect.SidecarContainer, inspect.EphemeralContainer),
	"Container.State": schematest.Enum("running", "waiting", "terminated"),
}

// TestSchemas compares the schemas in docs with the types; with -update it writes them.
func TestSchemas(t *testing.T) {
	g := &schematest.Generator{Types: typeSchemas, Fields: fieldSchemas, Sources: []string{
		".", "..", "../fields", "../cluster", "../../replay", "../../replay/timeline", "../../runlocal/findings",
	}}
	for _, tt := range []struct {
		file, title string
		documents   []any
	}{
		{"tree.schema.json", "What kubectl reconcile tree prints with -o json and -o yaml", []any{OwnerTree{}, DeletePreview{}}},
		{"status.schema.json", "What kubectl reconcile status prints with -o json and -o yaml; with --watch, each line", []any{StatusList{}, StatusEvent{}}},
		{"diff.schema.json", "What kubectl reconcile diff prints with -o json and -o yaml", []any{Plan{}, Comparison{}}},
		{"replay.schema.json", "What kubectl reconcile replay prints with -o json, each line, and with --summary -o json", []any{TimelineEntry{}, TimelineSummary{}}},
		{"why.schema.json", "What kubectl reconcile why prints with -o json and -o yaml; with --watch, each line", []any{Diagnosis{}, FieldBlame{}}},
	} {
		g.Compare(t, filepath.Join("../../../docs", tt.file), tt.title, *update, tt.documents...)
	}
	if unused := g.Unused(); unused != nil {
		t.Errorf("no document has %q", unused)
	}
}

// TestAPIVersion: traces and summaries have the same version as the documents here.
func TestAPIVersion(t *testing.T) {
	if APIVersion != trace.APIVersion {
		t.Errorf("%s beside %s of traces", APIVersion, trace.APIVersion)
	}
}
