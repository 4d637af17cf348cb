package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// previewDocument is what `tree --delete-preview -o json` prints. docs/tree.schema.json describes it: it is a promise.
type previewDocument struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Policy     metav1.DeletionPropagation `json:"policy"`
	Asked      []objectRef                `json:"asked"`
	Deleted    []objectRef                `json:"deleted"`
	Orphaned   []objectRef                `json:"orphaned,omitempty"`
	Kept       []previewKept              `json:"kept,omitempty"`
	Stuck      []previewReason            `json:"stuck,omitempty"`
	Unknown    []previewReason            `json:"unknown,omitempty"`
	HeldUp     []previewHeld              `json:"heldUp,omitempty"`
	// Waits are those of Deleted that wait for Kubernetes itself alone.
	Waits []previewHeld `json:"waits,omitempty"`
	// Late are those of Deleted that stay until what holds an owner of theirs is gone.
	Late       []objectRef          `json:"late,omitempty"`
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// previewKept is an object that would stay, and its owners that would.
type previewKept struct {
	Object objectRef   `json:"object"`
	Owners []objectRef `json:"owners"`
}

// previewReason is an object and why it is in its list.
type previewReason struct {
	Object objectRef `json:"object"`
	Why    string    `json:"why"`
}

// previewHeld is an object that would not go by itself.
type previewHeld struct {
	Object objectRef `json:"object"`
	treeHold
}

func (p *preview) document() *previewDocument {
	d := &previewDocument{
		APIVersion: outputVersion, Kind: "DeletePreview", Policy: p.Policy,
		Asked: refsOf(p.asked), Deleted: refsOf(p.Deleted), Orphaned: refsOf(p.Orphaned), Late: refsOf(p.Late), Incomplete: p.Incomplete,
		Stuck: p.reasons(p.Stuck), Unknown: p.reasons(p.Unknown),
	}
	for _, n := range p.Kept {
		d.Kept = append(d.Kept, previewKept{refOf(n), refsOf(p.keepers(n))})
	}
	for _, h := range p.Held {
		d.HeldUp = append(d.HeldUp, previewHeld{refOf(h.Node), *newTreeHold(h)})
	}
	for _, h := range p.Waits {
		d.Waits = append(d.Waits, previewHeld{refOf(h.Node), *newTreeHold(h)})
	}
	return d
}

func (p *preview) reasons(nodes []*ownertree.Node) []previewReason {
	var out []previewReason
	for _, n := range nodes {
		out = append(out, previewReason{refOf(n), p.Fate(n).Why})
	}
	return out
}
