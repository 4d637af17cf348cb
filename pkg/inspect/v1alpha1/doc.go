// Package v1alpha1 has the documents that commands print with -o json and -o yaml: the types of OwnerTree and
// DeletePreview (`tree`), of StatusList and StatusEvent (`status`), of Diagnosis and FieldBlame (`why`), and of Plan
// and Comparison (`diff`). A program that reads that output may decode it into these types.
//
// Names of fields and their values are a promise: within a version fields may be added, and nothing else changes.
// docs/tree.schema.json, docs/status.schema.json, docs/why.schema.json and docs/diff.schema.json are made of these
// types and their comments:
//
//	go generate ./pkg/inspect/v1alpha1
//
// The package has no logic. Commands fill the types in; the text for people in them is made there.
package v1alpha1

//go:generate go test -run TestSchemas -update .

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
