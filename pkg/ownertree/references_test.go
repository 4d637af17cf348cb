package ownertree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func referencesOf(obj *unstructured.Unstructured) []reference {
	r, refers := relating[obj.GroupVersionKind().GroupKind()]
	if !refers {
		return nil
	}
	object := r.typed(obj)
	if object == nil {
		return nil
	}
	return r.references(object)
}

// TestReferences reads the fields that few objects have; TestRelate has the usual ones.
func TestReferences(t *testing.T) {
	tests := []struct {
		reason, object string
		want           []string
	}{
		{
			"an ephemeral volume has a claim named after the pod and itself",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {volumes: [{name: scratch, ephemeral: {}}]}}`,
			[]string{"mounts PersistentVolumeClaim a/p-scratch"},
		},
		{
			"a driver's volume may need a secret",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: s}}}]}}`,
			[]string{"has credentials in Secret a/s"},
		},
		{
			"what is projected, and may be missing",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {volumes: [{name: v, projected: {sources: [{secret: {name: s, optional: true}}, {serviceAccountToken: {path: t}}]}}]}}`,
			[]string{"mounts Secret a/s (optional)"},
		},
		{
			"environments of all sorts of containers",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {containers: [{name: c, envFrom: [{configMapRef: {name: all}}],
			  env: [{name: A, value: "1"}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: C, valueFrom: {fieldRef: {fieldPath: x}}}]}],
			  ephemeralContainers: [{name: d, envFrom: [{secretRef: {name: debug}}]}]}}`,
			[]string{"reads Secret a/s", "reads ConfigMap a/all", "reads Secret a/debug"},
		},
		{
			"what one container can do without and another cannot is not optional, in either order",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {containers: [
			  {name: c, envFrom: [{configMapRef: {name: x, optional: true}}, {configMapRef: {name: w}}]},
			  {name: d, envFrom: [{configMapRef: {name: x}}, {configMapRef: {name: w, optional: true}}]}]}}`,
			[]string{"reads ConfigMap a/x", "reads ConfigMap a/w"},
		},
		{
			"classes of a pod",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {priorityClassName: high, runtimeClassName: gvisor}}`,
			[]string{"of class PriorityClass.scheduling.k8s.io /high", "of class RuntimeClass.node.k8s.io /gvisor"},
		},
		{
			"an ingress that leads to something else than a service, and rules without paths",
			`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: a}, spec: {defaultBackend: {resource: {apiGroup: k8s.example.com, kind: Bucket, name: b}}, rules: [{host: x}], tls: [{hosts: [x]}]}}`,
			[]string{"routes to Bucket.k8s.example.com a/b"},
		},
		{
			"a resource of the core group",
			`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: a}, spec: {defaultBackend: {resource: {kind: ConfigMap, name: b}}}}`,
			[]string{"routes to ConfigMap a/b"},
		},
		{"a service whose endpoints are kept by hand", `{apiVersion: v1, kind: Service, metadata: {namespace: a}, spec: {type: ExternalName}}`, nil},
		{"a slice without a service", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {namespace: a}}`, nil},
		{
			"an autoscaler names the version too, which may be served no longer",
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: a}, spec: {scaleTargetRef: {apiVersion: apps/v1beta1, kind: Deployment, name: d}}}`,
			[]string{"scales Deployment.apps a/d"},
		},
		{
			"a claim that takes any volume, but none of a class", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: a}, spec: {storageClassName: ""}}`, nil,
		},
		{
			"tokens of an account", `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: a}, secrets: [{name: t}]}`,
			[]string{"has token Secret a/t"},
		},
		{
			"a role of the whole cluster granted in one namespace; groups and users of people are no objects",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: a}, roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: Group, name: g}, {kind: User, name: u}, {kind: ServiceAccount, namespace: b, name: s}]}`,
			[]string{"grants ClusterRole.rbac.authorization.k8s.io /view", "granted rights by ServiceAccount b/s (backward)"},
		},
		{
			"an account by its user name, the accounts of a namespace, and all accounts",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {kind: ClusterRole, name: view}, subjects: [
			  {kind: User, name: "system:serviceaccount:b:s"}, {kind: Group, name: "system:serviceaccounts:b"}, {kind: Group, name: "system:serviceaccounts"},
			  {kind: Group, name: "system:authenticated"}, {kind: Group, name: "system:unauthenticated"}]}`,
			[]string{
				"grants ClusterRole.rbac.authorization.k8s.io /view", "granted rights by ServiceAccount b/s (backward)", "granted rights by ServiceAccount b/ (backward)",
				"granted rights by ServiceAccount */ (backward) (asked)", "granted rights by ServiceAccount */ (backward) (asked)",
			},
		},
		{
			"a role that is made of others", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}`,
			[]string{"aggregates ClusterRole.rbac.authorization.k8s.io /"},
		},
		{"a role that is not", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: []}`, nil},
		{
			"a policy for pods", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: a}, spec: {podSelector: {}}}`, []string{"restricts Pod a/"},
		},
		{
			"parameters of a class in a namespace, and of the cluster",
			`{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {parameters: {apiGroup: k8s.example.com, kind: P, name: p, namespace: a}}}`,
			[]string{"has parameters in P.k8s.example.com a/p"},
		},
		{
			"webhooks of Services, and of URLs",
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{clientConfig: {service: {namespace: a, name: s}}}, {clientConfig: {url: "https://x"}}]}`,
			[]string{"calls Service a/s"},
		},
		{
			"those that change objects", `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{clientConfig: {service: {namespace: a, name: s}}}]}`,
			[]string{"calls Service a/s"},
		},
		{
			"an API that another server serves", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, spec: {group: g, service: {namespace: a, name: s}}}`, []string{"served by Service a/s"},
		},
		{"a provisioner that is no CSI driver", `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: kubernetes.io/no-provisioner}`, nil},
		{"and one of the API server itself", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, spec: {group: g}}`, nil},
		{
			"a definition whose objects a webhook converts",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: a, name: s}}}}}}`,
			[]string{"converted by Service a/s"},
		},
		{"and one without", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g, conversion: {strategy: None}}}`, nil},
		{
			"a volume of a driver that needs Secrets",
			`{apiVersion: v1, kind: PersistentVolume, spec: {csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {namespace: a, name: s}, nodePublishSecretRef: {namespace: a, name: t}}}}`,
			[]string{"driven by CSIDriver.storage.k8s.io /d (optional)", "has credentials in Secret a/s", "has credentials in Secret a/t"},
		},
		{
			"volumes of other sorts", `{apiVersion: v1, kind: PersistentVolume, spec: {azureFile: {shareName: x, secretName: s, secretNamespace: a}}}`, []string{"has credentials in Secret a/s"},
		},
		{"without a namespace it is that of the claim, which is not known", `{apiVersion: v1, kind: PersistentVolume, spec: {azureFile: {shareName: x, secretName: s}}}`, nil},
		{"a reference without a namespace", `{apiVersion: v1, kind: PersistentVolume, spec: {rbd: {monitors: [], image: i, secretRef: {name: s}}}}`, nil},
		{
			"pods have such volumes, too", `{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: p}, spec: {volumes: [{name: v, cephfs: {monitors: [], secretRef: {name: s}}}, {name: w, azureFile: {shareName: x, secretName: t}}]}}`,
			[]string{"has credentials in Secret a/s", "has credentials in Secret a/t"},
		},
		{
			"a class, its driver, and Secrets that it names for all volumes",
			`{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: d, parameters: {csi.storage.k8s.io/provisioner-secret-name: s, csi.storage.k8s.io/provisioner-secret-namespace: a,
			  csi.storage.k8s.io/node-stage-secret-name: "${pvc.name}", csi.storage.k8s.io/node-stage-secret-namespace: a}}`,
			[]string{"provisioned by CSIDriver.storage.k8s.io /d (optional)", "has credentials in Secret a/s"},
		},
		{
			"a volume on a node", `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {attacher: d, nodeName: node, source: {persistentVolumeName: pv}}}`,
			[]string{"attached by PersistentVolume /pv (backward)", "attached to Node /node", "driven by CSIDriver.storage.k8s.io /d (optional)"},
		},
		{
			"the drivers of a node", `{apiVersion: storage.k8s.io/v1, kind: CSINode, spec: {drivers: [{name: d, nodeID: x}]}}`, []string{"registers CSIDriver.storage.k8s.io /d (optional)"},
		},
		{"how much room a class has", `{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {namespace: a}, storageClassName: c}`, []string{"capacity of StorageClass.storage.k8s.io /c"}},
		{
			"another class of a claim", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: a}, spec: {volumeAttributesClassName: gold}}`,
			[]string{"of class VolumeAttributesClass.storage.k8s.io /gold"},
		},
		{"an object that is not as its kind promises", `{apiVersion: v1, kind: Service, metadata: {namespace: a}, spec: [1]}`, nil},
		{"a kind that refers to nothing", `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: a}}`, nil},
		{"a kind of another group with the same name", `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {namespace: a}, spec: {selector: {a: b}}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.object), &obj.Object); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range referencesOf(obj) {
				line := r.relation + " " + r.to.String() + " " + r.namespace + "/" + r.name
				for _, mark := range []struct {
					is   bool
					text string
				}{{r.optional, " (optional)"}, {r.backward, " (backward)"}, {r.ifAsked, " (asked)"}} {
					if mark.is {
						line += mark.text
					}
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelectors: which pods are selected, and which claims are a set's.
func TestSelectors(t *testing.T) {
	tests := []struct {
		reason, object, name string
		labels               labels.Set
		want                 bool
	}{
		{"a service's labels", `{kind: Service, apiVersion: v1, spec: {selector: {app: web}}}`, "p", labels.Set{"app": "web", "x": "y"}, true},
		{"not all of them", `{kind: Service, apiVersion: v1, spec: {selector: {app: web, tier: a}}}`, "p", labels.Set{"app": "web"}, false},
		{"an empty selector of a budget selects all", `{kind: PodDisruptionBudget, apiVersion: policy/v1, spec: {selector: {}}}`, "p", nil, true},
		{"none selects none", `{kind: PodDisruptionBudget, apiVersion: policy/v1, spec: {}}`, "p", labels.Set{"app": "web"}, false},
		{"a set's claim", `{kind: StatefulSet, apiVersion: apps/v1, metadata: {name: db}, spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}`, "data-db-12", nil, true},
		{"another set's", `{kind: StatefulSet, apiVersion: apps/v1, metadata: {name: db}, spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}`, "data-db-copy-1", nil, false},
		{"a set's name alone", `{kind: StatefulSet, apiVersion: apps/v1, metadata: {name: db}, spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}`, "data-db-", nil, false},
		{
			"expressions that name no value, beside one that does",
			`{kind: PodDisruptionBudget, apiVersion: policy/v1, spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}, {key: x, operator: NotIn, values: [z]}]}}}`,
			"p", labels.Set{"app": "web", "tier": "a"}, true,
		},
		{
			"one of several values",
			`{kind: PodDisruptionBudget, apiVersion: policy/v1, spec: {selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}}`,
			"p", labels.Set{"app": "b"}, true,
		},
		{"a name with a dot is no pattern", `{kind: StatefulSet, apiVersion: apps/v1, metadata: {name: d.b}, spec: {volumeClaimTemplates: [{metadata: {name: data}}]}}`, "data-dxb-1", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.object), &obj.Object); err != nil {
				t.Fatal(err)
			}
			references := referencesOf(obj)
			if len(references) != 1 {
				t.Fatalf("%d references, want 1", len(references))
			}
			one := &Node{Kind: &cluster.Kind{GroupVersionKind: references[0].to.WithVersion("v1")}, Name: tt.name, Labels: tt.labels}
			if got := newRelationIndex([]*Node{one}).matching(&references[0]); (len(got) > 0) != tt.want {
				t.Errorf("selected: %v", got)
			}
		})
	}
}

// TestMayUse: a kind is listed only if it can refer to what is looked for.
func TestMayUse(t *testing.T) {
	kind := func(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }
	scaler := kind("autoscaling", "HorizontalPodAutoscaler")
	tests := []struct {
		reason     string
		user, used schema.GroupKind
		want       bool
	}{
		{"services select pods", kind("", "Service"), kind("", "Pod"), true},
		{"pods select no services", kind("", "Pod"), kind("", "Service"), false},
		{"a deployment is scaled", scaler, kind("apps", "Deployment"), true},
		{"a pod is not", scaler, kind("", "Pod"), false},
		{"a custom resource may be", scaler, kind("argoproj.io", "Rollout"), true},
		{"a role is not", scaler, kind("rbac.authorization.k8s.io", "Role"), false},
	}
	for _, tt := range tests {
		if got := mayUse(relating[tt.user], tt.used); got != tt.want {
			t.Errorf("%s: %t", tt.reason, got)
		}
	}
}
