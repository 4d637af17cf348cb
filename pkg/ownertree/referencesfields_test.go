package ownertree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// define makes the definition of a kind whose objects may hold anything, and waits until it is served.
func (s *sandbox) define(group, kind, scope string) {
	s.Helper()
	plural := strings.ToLower(kind) + "s"
	s.create("", fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.%s}, spec: {group: %s, scope: %s,
		names: {plural: %s, singular: %s, kind: %s, listKind: %sList},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`,
		plural, group, group, scope, plural, strings.ToLower(kind), kind, kind))
	s.eventually(kind+" is served", func() bool {
		_, ok := s.kindNamed(plural + "." + group)
		return ok
	})
}

// sharedCustom is a sandbox with custom resources that refer to others by their fields, which tests share.
func sharedCustom(t *testing.T) *sandbox {
	t.Helper()
	return sharedSandbox(t, "custom", (*sandbox).createCustom)
}

func (s *sandbox) createCustom() {
	s.Helper()
	for _, namespace := range []string{"shop", "other"} {
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	}
	s.define("cert-manager.io", "Certificate", "Namespaced")
	s.define("cert-manager.io", "Issuer", "Namespaced")
	s.define("cert-manager.io", "ClusterIssuer", "Cluster")
	s.define("keda.sh", "ScaledObject", "Namespaced")
	s.create("shop", "{apiVersion: v1, kind: Secret, metadata: {name: tls}}")
	s.create("other", "{apiVersion: v1, kind: Secret, metadata: {name: tls}}")
	s.create("shop", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}")
	s.create("shop", "{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: ca}, spec: {ca: {secretName: key}}}")
	s.create("shop", "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web}, spec: {secretName: tls, issuerRef: {kind: Issuer, name: ca}}}")
	s.create("shop", "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: lost}, spec: {secretName: none, issuerRef: {kind: ClusterIssuer, name: gone}, otherRef: {group: cert-manager.io, kind: ClusterIssuer, name: gone}}}")
	s.create("shop", "{apiVersion: keda.sh/v1, kind: ScaledObject, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}")
	s.create("", "{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: all}, spec: {secretRef: {name: tls, namespace: shop}}}")
}

// TestRelateCustom: custom resources lead to what their fields name, and are found from that.
func TestRelateCustom(t *testing.T) {
	s := sharedCustom(t)
	const definition = "customresourcedefinition.apiextensions.k8s.io/"
	certificate, issuer := "certificate.cert-manager.io/", "issuer.cert-manager.io/"
	for _, tt := range []struct {
		reason string
		from   ownertree.Ref
		want   []string
	}{
		{
			"a certificate", s.ref("certificate", "web"),
			[]string{
				certificate + "web defined by " + definition + "certificates.cert-manager.io (optional)",
				certificate + "web names in issuerRef " + issuer + "ca (optional)",
				certificate + "web names in secretName secret/tls",
				issuer + "ca defined by " + definition + "issuers.cert-manager.io (optional)",
				issuer + "ca names in secretName secret/key, which is not there",
			},
		},
		{
			"what is certain is missing, and what is guessed is optional", s.ref("certificate", "lost"),
			[]string{
				certificate + "lost defined by " + definition + "certificates.cert-manager.io (optional)",
				certificate + "lost names in issuerRef clusterissuer.cert-manager.io/gone, which is not there (optional)",
				certificate + "lost names in otherRef clusterissuer.cert-manager.io/gone, which is not there",
				certificate + "lost names in secretName secret/none, which is not there",
			},
		},
		{
			"a Secret: what names it in its namespace", s.ref("secret", "tls"),
			[]string{certificate + "web names in secretName secret/tls"},
		},
		{
			"a Deployment: what scales it", s.ref("deployment", "web"), []string{"scaledobject.keda.sh/web names in scaleTargetRef deployment.apps/web"},
		},
		{
			"an issuer: what names it", s.ref("issuer", "ca"),
			[]string{
				certificate + "web names in issuerRef " + issuer + "ca (optional)",
				issuer + "ca defined by " + definition + "issuers.cert-manager.io (optional)",
				issuer + "ca names in secretName secret/key, which is not there",
			},
		},
		{
			"a definition: the objects of its kind", s.ref("crd", "certificates.cert-manager.io"),
			[]string{
				certificate + "lost defined by " + definition + "certificates.cert-manager.io (optional)",
				certificate + "web defined by " + definition + "certificates.cert-manager.io (optional)",
			},
		},
	} {
		_, _, relations := s.relate(ownertree.ScopeOf([]ownertree.Ref{tt.from}, true), tt.from)
		if diff := cmp.Diff(tt.want, relationLines(relations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	everything := s.ref("secret", "tls")
	g, _ := s.load(s.kinds(), ownertree.Scope{}, everything)
	relations, missing, err := g.Relate(t.Context(), s.reader, []*ownertree.Node{g.Find(everything.Kind, "shop", "tls")}, ownertree.RelateOptions{})
	want := []string{certificate + "web names in secretName secret/tls", "clusterissuer.cert-manager.io/all names in secretRef secret/tls"}
	if diff := cmp.Diff(want, relationLines(relations)); diff != "" || err != nil || len(missing) > 0 {
		t.Errorf("with all namespaces, objects of none are looked at, too: %v, %v (-want +got):\n%s", missing, err, diff)
	}
	up := s.ref("crd", "issuers.cert-manager.io")
	_, _, relations = s.relate(ownertree.Scope{Nothing: true}, up)
	if diff := cmp.Diff([]string{issuer + "ca defined by " + definition + "issuers.cert-manager.io (optional)"}, relationLines(relations)); diff != "" {
		t.Errorf("where nothing was listed, objects of the kind are (-want +got):\n%s", diff)
	}
}

// TestLacksOfCustom: a Secret that only a field's name names may be what the object is about to make, as a certificate
// does. It is missing, but not what the object waits for.
func TestLacksOfCustom(t *testing.T) {
	s := sharedCustom(t)
	lost := s.ref("certificate", "lost")
	g, nodes := s.load(s.kinds(), ownertree.ScopeOf([]ownertree.Ref{lost}, true), lost)
	relations, missing, err := g.Relate(t.Context(), s.reader, nodes, ownertree.RelateOptions{NeedsOnly: true})
	if err != nil || len(missing) > 0 {
		t.Fatalf("incomplete: %v, %v", missing, err)
	}
	var got []string
	for _, lack := range ownertree.Lacks(nodes, relations)[nodes[0]] {
		got = append(got, lack.Object.String())
	}
	if diff := cmp.Diff([]string{"clusterissuer.cert-manager.io/gone"}, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestRelateCustomIncomplete: custom resources that may not be read are reported, and so are too many.
func TestRelateCustomIncomplete(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	s.define("example.com", "Gadget", "Namespaced")
	s.create("shop", "{apiVersion: v1, kind: Secret, metadata: {name: tls}}")
	s.create("shop", "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: one}, spec: {secretName: tls}}")
	secret := s.ref("secret", "tls")
	g, nodes := s.load(s.kinds(), ownertree.ScopeOf([]ownertree.Ref{secret}, true), secret)
	w.forbid = "gadgets"
	relations, missing, err := g.Relate(t.Context(), s.reader, nodes, ownertree.RelateOptions{})
	if err != nil || len(relations) > 0 || len(missing) != 1 || missing[0].Resource != "gadgets" || missing[0].Reason != "Forbidden" {
		t.Errorf("%v, incomplete: %v, %v; want gadgets, forbidden", relationLines(relations), missing, err)
	}
	w.forbid = ""
	for i := range 1000 {
		s.create("shop", fmt.Sprintf("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: g-%d}}", i))
	}
	g, nodes = s.load(s.kinds(), ownertree.ScopeOf([]ownertree.Ref{secret}, true), secret)
	_, missing, err = g.Relate(t.Context(), s.reader, nodes, ownertree.RelateOptions{})
	if err != nil || len(missing) != 1 || missing[0].Reason != "TooMany" || !strings.HasPrefix(missing[0].Message, "1001 objects") {
		t.Errorf("incomplete: %v, %v; want too many gadgets", missing, err)
	}
	crd := s.ref("crd", "gadgets.example.com")
	g, nodes = s.load(s.kinds(), ownertree.ScopeOf([]ownertree.Ref{crd}, true), crd)
	relations, missing, err = g.Relate(t.Context(), s.reader, nodes, ownertree.RelateOptions{})
	if err != nil || len(relations) != 500 || len(missing) != 1 || missing[0].Reason != "TooMany" {
		t.Errorf("%d relations, incomplete: %v, %v; want the first 500 gadgets of their definition", len(relations), missing, err)
	}
}
