// Package v1alpha1 has the documents that commands print with -o json and -o yaml: the types of OwnerTree and
// DeletePreview (`tree`), of StatusList and StatusEvent (`status`), of Diagnosis and FieldBlame (`why`), of Plan and
// Comparison (`diff`), and of TimelineEntry and TimelineSummary (`replay`). A program that reads that output may decode
// it into these types. The trace of `run` is in package trace.
//
// Names of fields and their values are a promise: within a version fields may be added, and nothing else changes.
// docs/tree.schema.json, status.schema.json, why.schema.json, diff.schema.json and replay.schema.json there are made of
// these types and their comments by `make schemas`; docs/schemas.md describes all documents.
//
// The package has no logic. Commands fill the types in; the text for people in them is made there.
package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// APIVersion is the apiVersion of all documents of this package.
const APIVersion = "kubectl-reconcile.github.io/v1alpha1"

// The kinds of documents.
const (
	OwnerTreeKind     = "OwnerTree"
	DeletePreviewKind = "DeletePreview"
	StatusListKind    = "StatusList"
	StatusEventKind   = "StatusEvent"
	PlanKind          = "Plan"
	ComparisonKind    = "Comparison"
	DiagnosisKind     = "Diagnosis"
	FieldBlameKind    = "FieldBlame"
)

// ObjectRef names an object.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Absent for objects of cluster-scoped kinds.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Absent for an object that does not exist, or was not read.
	UID types.UID `json:"uid,omitempty"`
}
