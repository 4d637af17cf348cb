package ownertree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TestReleaseOf: a finalizer is released only from the kind that its controller looks after.
func TestReleaseOf(t *testing.T) {
	for _, tt := range []struct{ kind, finalizer, by, once, reason string }{
		{"PersistentVolumeClaim", "kubernetes.io/pvc-protection", controllerManager, "no pod uses it", "a claim"},
		{"ConfigMap", "kubernetes.io/pvc-protection", "", "", "of no meaning there"},
		{"PersistentVolume", "kubernetes.io/pv-protection", controllerManager, "bound to no claim", "a volume"},
		{"Pod", "batch.kubernetes.io/job-tracking", controllerManager, "its Job has counted it", "a pod of a Job"},
		{"ResourceClaim.resource.k8s.io", "resource.kubernetes.io/delete-protection", controllerManager, "no pod uses it", "a claim of devices"},
		{"ResourceClaim.example.com", "resource.kubernetes.io/delete-protection", "", "", "a kind of another group of that name"},
		{"Service", "service.kubernetes.io/load-balancer-cleanup", aCloud, "where none runs, it stays", "of a cloud"},
		{"Service", "example.com/x", "", "", "one of another controller"},
		{"Namespace", "kubernetes", controllerManager, "all that is in it has gone", "of a namespace's spec"},
		{"Anything.example.com", "foregroundDeletion", controllerManager, "have gone", "the garbage collector's, of any kind"},
		{"Anything.example.com", "orphan", controllerManager, "have lost their references", "the other"},
	} {
		r, ok := removalOf(tt.kind, tt.finalizer)
		if ok != (tt.by != "") || r.By != tt.by || !strings.Contains(r.Once, tt.once) {
			t.Errorf("%s: %s on %s is released by %q %q, want %q %q", tt.reason, tt.finalizer, tt.kind, r.By, r.Once, tt.by, tt.once)
		}
	}
}

// namespaceful is a graph of a namespace with a claim and pods, of which the first is owned by the claim's Widget.
func namespaceful(t *testing.T, pods int, scope Scope) *Graph {
	t.Helper()
	g := newGraph(&cluster.Kinds{}, scope)
	kind := func(name string, namespaced bool) cluster.Kind {
		return cluster.Kind{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: name}, Resource: strings.ToLower(name) + "s", Namespaced: namespaced,
			Verbs: []string{"get", "delete", "list", "watch"},
		}
	}
	object := func(namespace, name string, finalizers ...string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Finalizers: finalizers}}
	}
	g.Add(kind("Namespace", false), object("", "n"))
	g.Add(kind("PersistentVolumeClaim", true), object("n", "claim", "kubernetes.io/pvc-protection"))
	g.Add(kind("Service", true), object("n", "lb", "service.kubernetes.io/load-balancer-cleanup", "example.com/x"))
	g.Add(kind("Pod", true), object("m", "elsewhere"))
	for i := range pods {
		g.Add(kind("Pod", true), object("n", fmt.Sprintf("pod-%d", i), "batch.kubernetes.io/job-tracking"))
	}
	return g
}

// TestPreviewWaits: what Kubernetes itself lets go does not hang, and it is reported whether pods that stay may be in the
// way.
func TestPreviewWaits(t *testing.T) {
	for _, tt := range []struct {
		reason string
		pods   int
		scope  Scope
		asked  []string
		waits  []string
		held   []string
	}{
		{"a claim alone", 0, Scope{}, []string{"claim"}, []string{"claim: kubernetes.io/pvc-protection certain"}, nil},
		{"a claim, and pods that stay", 2, Scope{}, []string{"claim"}, []string{"claim: kubernetes.io/pvc-protection pod-0 pod-1"}, nil},
		{"the pods go too", 1, Scope{}, []string{"claim", "pod-0"}, []string{"claim: kubernetes.io/pvc-protection certain", "pod-0: batch.kubernetes.io/job-tracking certain"}, nil},
		{"not all pods were read", 0, Scope{Nothing: true}, []string{"claim"}, []string{"claim: kubernetes.io/pvc-protection"}, nil},
		{"another finalizer beside one of Kubernetes'", 0, Scope{}, []string{"lb"}, nil, []string{"lb: example.com/x, service.kubernetes.io/load-balancer-cleanup"}},
		{
			"the whole namespace", 1, Scope{}, []string{"n"},
			[]string{"claim: kubernetes.io/pvc-protection certain", "pod-0: batch.kubernetes.io/job-tracking certain"},
			[]string{"n: , ", "lb: example.com/x, service.kubernetes.io/load-balancer-cleanup"},
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := namespaceful(t, tt.pods, tt.scope)
			p := g.DeletePreview(named(t, g, tt.asked...), metav1.DeletePropagationBackground)
			var waits, held []string
			for _, h := range p.Waits {
				for _, r := range h.Removals {
					text := h.Node.Name + ": " + r.Finalizer + " " + namesOf(r.Users)
					if r.Certain {
						text += "certain"
					}
					waits = append(waits, strings.TrimSpace(text))
				}
			}
			for _, h := range p.Blocked {
				var releases []string
				for _, r := range h.Removals {
					releases = append(releases, r.Finalizer)
				}
				held = append(held, h.Node.Name+": "+strings.Join(h.Finalizers, " ")+", "+strings.Join(releases, " "))
			}
			if diff := cmp.Diff([][]string{tt.waits, tt.held}, [][]string{waits, held}); diff != "" {
				t.Errorf("what waits, and what is held (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPreviewLate: which of two comes first is not predicted.
func TestPreviewLate(t *testing.T) {
	for _, tt := range []struct {
		reason string
		lines  []string
		policy metav1.DeletionPropagation
		late   string
	}{
		{"what does not block an owner that is held may outlast its waiting", []string{"A n/top finalizer=x", "A n/o <- A/top"}, metav1.DeletePropagationForeground, "o"},
		{"beside one that blocks it", []string{"A n/top finalizer=x", "A n/o <- A/top", "A n/p <- A/top!"}, metav1.DeletePropagationForeground, ""},
		{"nothing holds the owner", []string{"A n/top", "A n/o <- A/top"}, metav1.DeletePropagationForeground, ""},
		{"what is being deleted waits for nothing", []string{"A n/top finalizer=x", "A n/o deleting finalizer=x <- A/top"}, metav1.DeletePropagationBackground, ""},
		{"another owner keeps it for ever", []string{"A n/top finalizer=x", "A n/other", "A n/o <- A/top A/other"}, metav1.DeletePropagationBackground, ""},
	} {
		g := sketch(t, Scope{}, tt.lines...)
		p := g.DeletePreview(named(t, g, "top"), tt.policy)
		if got := namesOf(p.Late); got != tt.late {
			t.Errorf("%s: late are %q, want %q", tt.reason, got, tt.late)
		}
	}
}
