package ownertree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// setOf is a StatefulSet with two claims for each pod.
func setOf(name, whenDeleted string) string {
	retention := ""
	if whenDeleted != "" {
		retention = "persistentVolumeClaimRetentionPolicy: {whenDeleted: " + whenDeleted + ", whenScaled: Retain}, "
	}
	claim := "{metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	return "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: " + name + "}, spec: {serviceName: db, podManagementPolicy: Parallel, replicas: 2, " + retention +
		"selector: {matchLabels: {app: " + name + "}}, template: {metadata: {labels: {app: " + name + "}}, spec: {containers: [{name: c, image: i}]}}, " +
		"volumeClaimTemplates: [" + fmt.Sprintf(claim, "data") + ", " + fmt.Sprintf(claim, "log") + "]}}"
}

// TestPreviewClaims lets the real StatefulSet controller make claims, and give those to the set that go with it.
func TestPreviewClaims(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	s.create("shop", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	for _, set := range []string{setOf("keeps", ""), setOf("retains", "Retain"), setOf("deletes", "Delete")} {
		s.create("shop", set)
	}
	s.control("statefulset")
	claim := func(name string) *unstructured.Unstructured {
		found, err := s.resource(claims, "shop").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return found
	}
	for _, set := range []string{"keeps", "retains", "deletes"} {
		for _, name := range []string{"data-" + set + "-0", "data-" + set + "-1", "log-" + set + "-0", "log-" + set + "-1"} {
			s.eventually(name+" is made, and owned if it is to go", func() bool {
				made := claim(name)
				return made != nil && (len(made.GetOwnerReferences()) > 0) == (set == "deletes")
			})
		}
	}
	for i, reclaim := range []string{"Delete", "Retain"} {
		s.bind(claim(fmt.Sprintf("data-deletes-%d", i)), fmt.Sprintf("pv-%d", i), reclaim)
	}
	s.create("", "{apiVersion: v1, kind: PersistentVolume, metadata: {name: another}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}}}")
	g := s.collect(ownertree.Scope{Namespaces: []string{"shop"}})
	for _, tt := range []struct {
		reason, kind, name string
		want               []string
	}{
		{
			"claims stay by default", "statefulset", "keeps",
			[]string{"data-keeps-0 stays: Retain of keeps", "data-keeps-1 stays: Retain of keeps", "log-keeps-0 stays: Retain of keeps", "log-keeps-1 stays: Retain of keeps"},
		},
		{
			"as they do where that is said", "statefulset", "retains",
			[]string{"data-retains-0 stays: Retain of retains", "data-retains-1 stays: Retain of retains", "log-retains-0 stays: Retain of retains", "log-retains-1 stays: Retain of retains"},
		},
		{
			"or go with the set, and their volumes by their own policy", "statefulset", "deletes",
			[]string{
				"data-deletes-0 goes: Delete of deletes, volume pv-0 Delete", "data-deletes-1 goes: Delete of deletes, volume pv-1 Retain",
				"log-deletes-0 goes: Delete of deletes", "log-deletes-1 goes: Delete of deletes",
			},
		},
		{"a claim by itself", "pvc", "data-deletes-0", []string{"data-deletes-0 goes, volume pv-0 Delete"}},
		{"a pod has none", "pod", "keeps-0", nil},
	} {
		asked := g.Find(s.kind(tt.kind), "shop", tt.name)
		if asked == nil {
			t.Fatalf("no %s %s", tt.kind, tt.name)
		}
		p := g.DeletePreview([]*ownertree.Node{asked}, background)
		outcomes, missing, err := g.PreviewClaims(t.Context(), s.reader, &p)
		if err != nil || len(missing) > 0 {
			t.Fatalf("incomplete: %v, %v", missing, err)
		}
		if diff := cmp.Diff(tt.want, claimLines(outcomes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	p := g.DeletePreview([]*ownertree.Node{g.Find(s.kind("statefulset"), "shop", "deletes")}, orphan)
	outcomes, _, _ := g.PreviewClaims(t.Context(), s.reader, &p)
	for _, o := range outcomes {
		if o.Deleted || o.Volume != nil {
			t.Errorf("%s would go, though its owner orphans it", o.Claim)
		}
	}
}

// bind makes a volume that the claim is bound to.
func (s *sandbox) bind(claim *unstructured.Unstructured, volume, reclaim string) {
	s.Helper()
	s.create("", fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi},
		hostPath: {path: /x}, persistentVolumeReclaimPolicy: %s, claimRef: {namespace: shop, name: %s, uid: %s}}}`, volume, reclaim, claim.GetName(), claim.GetUID()))
	if err := unstructured.SetNestedField(claim.Object, volume, "spec", "volumeName"); err != nil {
		s.Fatal(err)
	}
	if _, err := s.resource(claims, "shop").Update(s.Context(), claim, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func claimLines(outcomes []ownertree.ClaimOutcome) []string {
	var out []string
	for _, o := range outcomes {
		line := o.Claim.Name + " stays"
		if o.Deleted {
			line = o.Claim.Name + " goes"
		}
		if o.Set != nil {
			line += ": " + string(o.WhenDeleted) + " of " + o.Set.Name
		}
		if o.Volume != nil {
			line += ", volume " + o.Volume.Name + " " + string(o.Reclaim)
		}
		out = append(out, line)
	}
	return out
}

// TestPreviewClaimsIncomplete: what may not be read is reported, and the rest is there.
func TestPreviewClaimsIncomplete(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	made := s.create("shop", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	s.bind(made, "pv-0", "Delete")
	g := s.collect(ownertree.Scope{Namespaces: []string{"shop"}})
	w.forbid = "persistentvolumes"
	p := g.DeletePreview([]*ownertree.Node{g.ByUID(made.GetUID())}, background)
	outcomes, missing, err := g.PreviewClaims(t.Context(), s.reader, &p)
	if err != nil || len(missing) != 1 || missing[0].Resource != "persistentvolumes" || strings.Join(claimLines(outcomes), "; ") != "a goes" {
		t.Errorf("%v, incomplete: %v, %v; want the claim, and that volumes are forbidden", claimLines(outcomes), missing, err)
	}
}

// TestPreviewClaimsOfMany: many claims are read by a list, as many as there are.
func TestPreviewClaimsOfMany(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	for i := range 8 {
		name := fmt.Sprintf("c-%d", i)
		made := s.create("shop", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: "+name+"}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
		s.bind(made, fmt.Sprintf("pv-%d", i), "Delete")
	}
	g := s.collect(ownertree.Scope{})
	namespace := g.Find(s.kind("namespace"), "", "shop")
	p := g.DeletePreview([]*ownertree.Node{namespace}, background)
	w.asked()
	outcomes, missing, err := g.PreviewClaims(t.Context(), s.reader, &p)
	if err != nil || len(missing) > 0 || len(outcomes) != 8 {
		t.Fatalf("%v, incomplete: %v, %v", claimLines(outcomes), missing, err)
	}
	for i, o := range outcomes {
		if o.Volume == nil || o.Volume.Name != fmt.Sprintf("pv-%d", i) || o.Volume.UID == "" {
			t.Errorf("%s has volume %v", o.Claim, o.Volume)
		}
	}
	if diff := cmp.Diff([]string{"/api/v1/namespaces/shop/persistentvolumeclaims", "/api/v1/persistentvolumes"}, w.asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
