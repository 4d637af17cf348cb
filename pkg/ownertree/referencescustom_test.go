package ownertree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// customKinds are the kinds of a cluster with custom resources, as KIND.GROUP; ! stands behind those of no namespace.
func customKinds(names ...string) []cluster.Kind {
	out := []cluster.Kind{}
	for _, name := range append([]string{
		"Secret", "ConfigMap", "Service", "ServiceAccount", "Pod", "Node!", "Deployment.apps", "StorageClass.storage.k8s.io!", "Ingress.networking.k8s.io",
	}, names...) {
		name, clusterScoped := strings.CutSuffix(name, "!")
		kind, group, _ := strings.Cut(name, ".")
		out = append(out, cluster.Kind{
			GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Resource: strings.ToLower(kind) + "s",
			Namespaced: !clusterScoped, Verbs: []string{"delete", "get", "list", "watch"},
		})
	}
	return out
}

// TestCustomReferences: what fields of custom resources name, and for certain or not. A name that is taken for one and
// is none is worse than one that is overlooked.
func TestCustomReferences(t *testing.T) {
	kinds := newKindIndex(customKinds(
		"Certificate.cert-manager.io", "Issuer.cert-manager.io", "ClusterIssuer.cert-manager.io!", "GitRepository.source.toolkit.fluxcd.io", "HelmRelease.helm.toolkit.fluxcd.io",
		"Cluster.cluster.x-k8s.io", "Machine.cluster.x-k8s.io", "Cluster.postgresql.cnpg.io", "Gateway.gateway.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io",
		"ProviderConfig.aws.example.com!", "Bucket.aws.example.com!", "ScaledObject.keda.sh", "Policy.kyverno.io", "App.example.com", "Thing.one.example.com", "Thing.two.example.com",
	))
	for _, tt := range []struct {
		reason, object string
		want           []string
	}{
		{
			"a certificate: the Secret is certain, and so is the issuer, which names its group",
			`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: a}, spec: {secretName: tls, issuerRef: {group: cert-manager.io, kind: ClusterIssuer, name: ca}}}`,
			[]string{"issuerRef ClusterIssuer.cert-manager.io /ca", "secretName Secret a/tls"},
		},
		{
			"a kind without a group is likely the one of the same group",
			`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: a}, spec: {issuerRef: {kind: Issuer, name: ca}}}`,
			[]string{"issuerRef Issuer.cert-manager.io a/ca, perhaps"},
		},
		{
			"and without a kind, if the field is called so",
			`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: a}, spec: {issuerRef: {name: ca}}}`,
			[]string{"issuerRef Issuer.cert-manager.io a/ca, perhaps"},
		},
		{
			"a kind that only one other group has",
			`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: a}, spec: {chart: {spec: {sourceRef: {kind: GitRepository, name: repo, namespace: flux}}}, valuesFrom: [{kind: ConfigMap, name: values}]}}`,
			[]string{"sourceRef GitRepository.source.toolkit.fluxcd.io flux/repo, perhaps", "valuesFrom ConfigMap a/values, perhaps"},
		},
		{
			"a kind that several have is not guessed", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {thingRef: {kind: Thing, name: x}}}`, nil,
		},
		{
			"nor is one of another group by the name of a field", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {gitRepositoryRef: {name: x}, clusterName: y}}`, nil,
		},
		{
			"a name of a kind of the same group", `{apiVersion: cluster.x-k8s.io/v1beta1, kind: Machine, metadata: {namespace: a}, spec: {clusterName: c}}`,
			[]string{"clusterName Cluster.cluster.x-k8s.io a/c, perhaps"},
		},
		{
			"an API version names the group, too",
			`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: a}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`,
			[]string{"scaleTargetRef Deployment.apps a/web"},
		},
		{
			"the core group is a group", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {targetRef: {group: "", kind: Service, name: s}, otherRef: {apiVersion: v1, kind: Service, name: t}}}`,
			[]string{"otherRef Service a/t", "targetRef Service a/s"},
		},
		{
			"a group that is not served, which is certain, too", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {targetRef: {apiGroup: gone.example.com, kind: Lost, name: s}}}`,
			[]string{"targetRef Lost.gone.example.com a/s"},
		},
		{
			"the defaults of the Gateway API",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: a}, spec: {parentRefs: [{name: gw, namespace: infra}], rules: [{backendRefs: [{name: web, port: 80}, {name: x, kind: Service, group: ""}]}]}}`,
			[]string{"parentRefs Gateway.gateway.networking.k8s.io infra/gw", "backendRefs Service a/web", "backendRefs Service a/x"},
		},
		{
			"and of its certificates, which are Secrets",
			`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: a}, spec: {listeners: [{tls: {certificateRefs: [{name: tls}]}}]}}`,
			[]string{"certificateRefs Secret a/tls"},
		},
		{
			"keys of Secrets and ConfigMaps, deep down",
			`{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {auth: [{tokenSecretRef: {name: t, key: k}}, {valueFrom: {secretKeyRef: {name: u, key: k}}}, {configMapKeyRef: {name: c, key: k}}], configMapRef: {name: d, optional: true}}}`,
			[]string{"tokenSecretRef Secret a/t", "secretKeyRef Secret a/u", "configMapKeyRef ConfigMap a/c", "configMapRef ConfigMap a/d, perhaps"},
		},
		{
			"names alone: of a certain kind, or perhaps of one",
			`{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {serviceAccountName: sa, storageClassName: fast, caSecretName: ca, passwordSecret: pw, serviceName: web, imageName: nginx, nodeName: node-1}}`,
			[]string{
				"caSecretName Secret a/ca", "nodeName Node /node-1, perhaps", "passwordSecret Secret a/pw, perhaps", "serviceAccountName ServiceAccount a/sa",
				"serviceName Service a/web, perhaps", "storageClassName StorageClass.storage.k8s.io /fast",
			},
		},
		{
			"an object of no namespace names one", `{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, spec: {acme: {privateKeySecretRef: {name: key}, solvers: [{dns: {tokenRef: {secretRef: {name: t, namespace: b}}}}]}}}`,
			[]string{"secretRef Secret b/t"},
		},
		{
			"one of no namespace names another", `{apiVersion: aws.example.com/v1, kind: Bucket, spec: {providerConfigRef: {name: default}}}`, []string{"providerConfigRef ProviderConfig.aws.example.com /default, perhaps"},
		},
		{
			"what a template makes refers by itself", `{apiVersion: kyverno.io/v1, kind: Policy, metadata: {namespace: a}, spec: {generate: {data: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {serviceAccountName: sa}}}}}`, nil,
		},
		{"what is no name", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: {secretName: "{{ .Values.secret }}", secretRef: {name: 3}, configMapName: "", caSecretName: A_B}}`, nil},
		{"status and metadata say nothing about what it needs", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a, labels: {secretName: x}}, status: {secretName: x}}`, nil},
		{"fields outside of spec", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, roleRef: {apiGroup: apps, kind: Deployment, name: d}}`, []string{"roleRef Deployment.apps a/d"}},
		{"the same twice", `{apiVersion: example.com/v1, kind: App, metadata: {namespace: a}, spec: [{secretName: x}, {secretName: x}]}`, []string{"secretName Secret a/x"}},
	} {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(tt.object), &obj.Object); err != nil {
			t.Fatal(err)
		}
		kind := kinds.near(obj.GetKind(), obj.GroupVersionKind().Group)
		r := (&relationSource{named: kinds}).customReferring(kind)
		var got []string
		for _, ref := range r.references(r.typed(obj)) {
			if ref.relation == "defined by" {
				continue
			}
			line := strings.TrimPrefix(ref.relation, "names in ") + " " + ref.to.String() + " " + ref.namespace + "/" + ref.name
			if ref.optional {
				line += ", perhaps"
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestCustomNeeds: what an object may be about to make is not what it needs, however certain its kind is.
func TestCustomNeeds(t *testing.T) {
	kinds := newKindIndex(customKinds("App.example.com"))
	r := (&relationSource{named: kinds}).customReferring(kinds.near("App", "example.com"))
	for _, tt := range []struct {
		field  string
		want   bool
		reason string
	}{
		{"secretName: x", false, "a certificate makes its Secret"},
		{"privateKeySecretRef: {name: x}", false, "and so does an issuer"},
		{"serviceAccountName: x", false, "an operator may make the account"},
		{"storageClassName: x", true, "a class is there for others"},
		{"secretRef: {name: x}", true, "values are taken from it"},
		{"configMapKeyRef: {name: x, key: k}", true, "a value is"},
		{"configMapRef: {name: x, optional: true}", false, "the object does without it"},
		{"targetRef: {apiVersion: apps/v1, kind: Deployment, name: x}", true, "the field names the kind"},
		{"targetRef: {kind: Deployment, name: x}", false, "the group is guessed"},
	} {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("{metadata: {namespace: a}, spec: {"+tt.field+"}}"), &obj.Object); err != nil {
			t.Fatal(err)
		}
		references := r.references(r.typed(obj))
		if len(references) != 2 { // the first is to the definition
			t.Fatalf("%s: %d references, want 2", tt.field, len(references))
		}
		if got := references[1].needed(); got != tt.want {
			t.Errorf("%s is needed: %t, want %t: %s", tt.field, got, tt.want, tt.reason)
		}
	}
}

// TestCustomReferencesAreBounded: an object that nests or refers without end is looked at so far.
func TestCustomReferencesAreBounded(t *testing.T) {
	kinds := newKindIndex(customKinds("App.example.com"))
	r := (&relationSource{named: kinds}).customReferring(kinds.near("App", "example.com"))
	deep := map[string]any{"secretName": "deep"}
	for range 2 * deepestField {
		deep = map[string]any{"inner": deep}
	}
	var many []any
	for i := range 2 * mostReferences {
		many = append(many, map[string]any{"secretName": "s" + strings.Repeat("x", i%200) + string(rune('a'+i/200))})
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"deep": deep, "many": many}, "metadata": map[string]any{"namespace": "a"}}}
	references := r.references(r.typed(obj))
	if len(references) != mostReferences {
		t.Errorf("%d references, want %d", len(references), mostReferences)
	}
	for _, ref := range references {
		if ref.name == "deep" {
			t.Error("what is nested without end is looked at")
		}
	}
}

// TestIsCustom: kinds of Kubernetes itself are none.
func TestIsCustom(t *testing.T) {
	for name, want := range map[string]bool{
		"Pod": false, "Deployment.apps": false, "CustomResourceDefinition.apiextensions.k8s.io": false, "APIService.apiregistration.k8s.io": false,
		"Gateway.gateway.networking.k8s.io": true, "Certificate.cert-manager.io": true,
	} {
		all := customKinds(name)
		if got := isCustom(&all[len(all)-1]); got != want {
			t.Errorf("%s is custom: %t", name, got)
		}
	}
}
