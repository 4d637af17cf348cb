package ownertree_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// shop is a namespace with an object of every kind that refers to others.
const shop = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
{apiVersion: v1, kind: Secret, metadata: {name: password}}
{apiVersion: v1, kind: Secret, metadata: {name: tls}}
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, imagePullSecrets: [{name: registry}]}
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: by-hand}, spec: {ports: [{port: 80}]}}
{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {selector: {app: other}, ports: [{port: 80}]}}
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: by-hand-1, labels: {kubernetes.io/service-name: by-hand}}, addressType: IPv4, endpoints: []}
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: front}, spec: {ingressClassName: nginx, tls: [{hosts: [a.example.com], secretName: tls}],
  defaultBackend: {service: {name: gone, port: {number: 80}}},
  rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: lost}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: example.com/v1, kind: Nothing, name: web}}}
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {podSelector: {matchLabels: {app: web}}}}
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}},
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeName: pv-0, resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-x}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web-reads}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader},
  subjects: [{kind: ServiceAccount, name: web, namespace: shop}, {kind: User, apiGroup: rbac.authorization.k8s.io, name: somebody}]}
`

// wide are the objects beside it that are in no namespace.
const wide = `
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}, spec: {controller: example.com/nginx}}
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-0}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /x}, storageClassName: fast, claimRef: {namespace: shop, name: data-db-0}}}
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: example.com/fast}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: web-sees}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nowhere},
  subjects: [{kind: ServiceAccount, name: web, namespace: shop}]}
`

const webPod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1, labels: {app: web}}, spec: {serviceAccountName: web, nodeName: node-1,
  imagePullSecrets: [{name: registry}],
  initContainers: [{name: i, image: i, envFrom: [{secretRef: {name: password}}]}],
  containers: [{name: c, image: i, env: [{name: A, valueFrom: {configMapKeyRef: {name: maybe, key: a, optional: true}}}]}],
  volumes: [{name: a, configMap: {name: settings}}, {name: b, projected: {sources: [{configMap: {name: settings}}, {configMap: {name: kube-root-ca.crt}}]}},
    {name: d, persistentVolumeClaim: {claimName: data-db-0}}]}}`

// startShop starts a server with them.
func startShop(t *testing.T) *sandbox {
	t.Helper()
	s := startSandbox(t)
	s.openShop()
	return s
}

// sharedShop is a sandbox with them that tests share which only read.
func sharedShop(t *testing.T) *sandbox {
	t.Helper()
	return sharedSandbox(t, "shop", (*sandbox).openShop)
}

func (s *sandbox) openShop() {
	s.Helper()
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	for _, o := range manifests(wide) {
		s.create("", o)
	}
	made := map[string]*unstructured.Unstructured{}
	for _, o := range manifests(shop) {
		obj := s.create("shop", o)
		made[obj.GetKind()+"/"+obj.GetName()] = obj
	}
	s.create("shop", webPod, owned(made["Deployment/web"]))
}

// manifests splits text at the lines that begin an object.
func manifests(text string) []string {
	parts := strings.Split(text, "\n{")
	for i := range parts {
		parts[i] = "{" + parts[i]
	}
	return parts[1:]
}

func (s *sandbox) relate(scope ownertree.Scope, refs ...ownertree.Ref) (*ownertree.Graph, []*ownertree.Node, []ownertree.Relation) {
	s.Helper()
	g, nodes := s.load(s.kinds(), scope, refs...)
	relations, missing, err := g.Relate(s.Context(), s.reader, below(nodes), ownertree.RelateOptions{})
	if err != nil || len(missing) > 0 {
		s.Fatalf("relating: %v, incomplete: %v", err, missing)
	}
	return g, nodes, relations
}

func (s *sandbox) ref(kind, name string) ownertree.Ref {
	ref := ownertree.Ref{Kind: s.kind(kind), Name: name}
	if ref.Kind.Namespaced {
		ref.Namespace = "shop"
	}
	return ref
}

// relationLines are the relations, without those to the default account and the roles that each API server gives all
// accounts.
func relationLines(relations []ownertree.Relation) []string {
	var out []string
	for _, r := range relations {
		if strings.HasPrefix(r.To.Name, "system:") || r.To.Name == "default" {
			continue
		}
		line := r.From.String() + " " + r.Type + " " + r.To.String()
		if r.Missing {
			line += ", which is not there"
		}
		if r.Optional {
			line += " (optional)"
		}
		out = append(out, line)
	}
	return out
}

func TestRelate(t *testing.T) {
	s := sharedShop(t)
	tests := []struct {
		reason string
		from   ownertree.Ref
		want   []string
	}{
		{
			"a workload: all that its pods use and may do, what uses those, and the ingress of their service", s.ref("deployment", "web"),
			[]string{
				"clusterrolebinding.rbac.authorization.k8s.io/web-sees grants clusterrole.rbac.authorization.k8s.io/nowhere, which is not there",
				"horizontalpodautoscaler.autoscaling/web scales deployment.apps/web",
				"ingress.networking.k8s.io/front routes to service/web",
				"networkpolicy.networking.k8s.io/web restricts pod/web-1",
				"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
				"persistentvolumeclaim/data-db-0 bound to persistentvolume/pv-0",
				"persistentvolumeclaim/data-db-0 of class storageclass.storage.k8s.io/fast",
				"pod/web-1 mounts configmap/settings",
				"pod/web-1 mounts persistentvolumeclaim/data-db-0",
				"pod/web-1 pulls images with secret/registry, which is not there",
				"pod/web-1 reads configmap/maybe, which is not there (optional)",
				"pod/web-1 reads secret/password",
				"pod/web-1 runs as serviceaccount/web",
				"pod/web-1 runs on node/node-1, which is not there",
				"poddisruptionbudget.policy/web protects pod/web-1",
				"rolebinding.rbac.authorization.k8s.io/web-reads grants role.rbac.authorization.k8s.io/reader",
				"service/web selects pod/web-1",
				"serviceaccount/web granted rights by clusterrolebinding.rbac.authorization.k8s.io/web-sees",
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/web-reads",
				"serviceaccount/web pulls images with secret/registry, which is not there",
			},
		},
		{
			"an ingress: its service and the pods of that, its class and its certificate", s.ref("ingress", "front"),
			[]string{
				"clusterrolebinding.rbac.authorization.k8s.io/web-sees grants clusterrole.rbac.authorization.k8s.io/nowhere, which is not there",
				"ingress.networking.k8s.io/front has TLS from secret/tls",
				"ingress.networking.k8s.io/front of class ingressclass.networking.k8s.io/nginx",
				"ingress.networking.k8s.io/front routes to service/gone, which is not there",
				"ingress.networking.k8s.io/front routes to service/web",
				"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
				"persistentvolumeclaim/data-db-0 bound to persistentvolume/pv-0",
				"persistentvolumeclaim/data-db-0 of class storageclass.storage.k8s.io/fast",
				"pod/web-1 mounts configmap/settings",
				"pod/web-1 mounts persistentvolumeclaim/data-db-0",
				"pod/web-1 pulls images with secret/registry, which is not there",
				"pod/web-1 reads configmap/maybe, which is not there (optional)",
				"pod/web-1 reads secret/password",
				"pod/web-1 runs as serviceaccount/web",
				"pod/web-1 runs on node/node-1, which is not there",
				"rolebinding.rbac.authorization.k8s.io/web-reads grants role.rbac.authorization.k8s.io/reader",
				"service/web selects pod/web-1",
				"serviceaccount/web granted rights by clusterrolebinding.rbac.authorization.k8s.io/web-sees",
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/web-reads",
				"serviceaccount/web pulls images with secret/registry, which is not there",
			},
		},
		{
			"a StatefulSet: claims by the names that it gives them", s.ref("statefulset", "db"),
			[]string{
				"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
				"persistentvolumeclaim/data-db-0 bound to persistentvolume/pv-0",
				"persistentvolumeclaim/data-db-0 of class storageclass.storage.k8s.io/fast",
				"statefulset.apps/db claims persistentvolumeclaim/data-db-0",
				"statefulset.apps/db names its pods by service/db, which is not there (optional)",
			},
		},
		{
			"a volume: who claims it, and who uses the claim", s.ref("pv", "pv-0"),
			[]string{
				"ingress.networking.k8s.io/front routes to service/web",
				"networkpolicy.networking.k8s.io/web restricts pod/web-1",
				"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
				"persistentvolumeclaim/data-db-0 bound to persistentvolume/pv-0",
				"pod/web-1 mounts persistentvolumeclaim/data-db-0",
				"poddisruptionbudget.policy/web protects pod/web-1",
				"service/web selects pod/web-1",
				"statefulset.apps/db claims persistentvolumeclaim/data-db-0",
			},
		},
		{
			"an account: who it runs, and what it may do", s.ref("serviceaccount", "web"),
			[]string{
				"clusterrolebinding.rbac.authorization.k8s.io/web-sees grants clusterrole.rbac.authorization.k8s.io/nowhere, which is not there",
				"ingress.networking.k8s.io/front routes to service/web",
				"networkpolicy.networking.k8s.io/web restricts pod/web-1",
				"pod/web-1 runs as serviceaccount/web",
				"poddisruptionbudget.policy/web protects pod/web-1",
				"rolebinding.rbac.authorization.k8s.io/web-reads grants role.rbac.authorization.k8s.io/reader",
				"service/web selects pod/web-1",
				"serviceaccount/web granted rights by clusterrolebinding.rbac.authorization.k8s.io/web-sees",
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/web-reads",
				"serviceaccount/web pulls images with secret/registry, which is not there",
			},
		},
		{
			"a service without a selector has the slices that name it", s.ref("service", "by-hand"),
			[]string{"service/by-hand has endpoints in endpointslice.discovery.k8s.io/by-hand-1"},
		},
		{
			"an autoscaler of what is not served", s.ref("hpa", "lost"),
			[]string{"horizontalpodautoscaler.autoscaling/lost scales nothing.example.com/web, which is not there"},
		},
		{"a service without pods", s.ref("service", "other"), nil},
		{
			"a role: who is granted it", s.ref("role", "reader"),
			[]string{
				"rolebinding.rbac.authorization.k8s.io/web-reads grants role.rbac.authorization.k8s.io/reader",
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/web-reads",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			within := *s
			within.T = t
			s := &within
			_, _, relations := s.relate(ownertree.ScopeOf([]ownertree.Ref{tt.from}, true), tt.from)
			if diff := cmp.Diff(tt.want, relationLines(relations)); diff != "" {
				t.Errorf("relations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRelateBeyondTheGraph: an object whose dependents were not asked for comes with a graph that holds nothing else.
func TestRelateBeyondTheGraph(t *testing.T) {
	s := sharedShop(t)
	g, _, relations := s.relate(ownertree.Scope{Nothing: true}, s.ref("service", "web"))
	lines := strings.Join(relationLines(relations), "\n")
	for _, want := range []string{"service/web selects pod/web-1", "pod/web-1 mounts configmap/settings", "ingress.networking.k8s.io/front routes to service/web"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%s is not among\n%s", want, lines)
		}
	}
	if pod := g.Find(s.kind("pods"), "shop", "web-1"); pod == nil {
		t.Error("the pod that was found is not in the graph")
	}
}

func drawn(branches []*ownertree.Branch, indent string) []string {
	var out []string
	for _, b := range branches {
		if strings.HasPrefix(b.Node.Name, "system:") {
			continue // each API server has these roles
		}
		line := indent + b.Node.String()
		if b.Relation != "" {
			line += " (" + b.Relation + ")"
		}
		if b.Missing {
			line += " is not there"
		}
		if b.Repeated {
			line += " above"
		}
		out = append(out, line)
		out = append(out, drawn(b.Children, indent+"  ")...)
	}
	return out
}

func TestRelated(t *testing.T) {
	s := sharedShop(t)
	tests := []struct {
		reason string
		refs   []ownertree.Ref
		want   []string
	}{
		{
			"what an object uses, and then what uses it", []ownertree.Ref{s.ref("deployment", "web")},
			[]string{
				"deployment.apps/web",
				"  pod/web-1",
				"    serviceaccount/web (identity of)",
				"      clusterrolebinding.rbac.authorization.k8s.io/web-sees (grants to)",
				"        clusterrole.rbac.authorization.k8s.io/nowhere (granted by) is not there",
				"      rolebinding.rbac.authorization.k8s.io/web-reads (grants to)",
				"        role.rbac.authorization.k8s.io/reader (granted by)",
				"      secret/registry (pulls images for) is not there",
				"    configmap/settings (mounted by)",
				"    persistentvolumeclaim/data-db-0 (mounted by)",
				"      persistentvolume/pv-0 (bound to)",
				"        storageclass.storage.k8s.io/fast (class of)",
				"      storageclass.storage.k8s.io/fast (class of)",
				"    secret/registry (pulls images for) is not there",
				"    secret/password (read by)",
				"    node/node-1 (runs) is not there",
				"    poddisruptionbudget.policy/web (protects)",
				"    networkpolicy.networking.k8s.io/web (restricts)",
				"    service/web (selects)",
				"      ingress.networking.k8s.io/front (routes to)",
				"  horizontalpodautoscaler.autoscaling/web (scales)",
			},
		},
		{
			"a binding is shown with its role", []ownertree.Ref{s.ref("serviceaccount", "web")},
			[]string{
				"serviceaccount/web",
				"  clusterrolebinding.rbac.authorization.k8s.io/web-sees (grants to)",
				"    clusterrole.rbac.authorization.k8s.io/nowhere (granted by) is not there",
				"  rolebinding.rbac.authorization.k8s.io/web-reads (grants to)",
				"    role.rbac.authorization.k8s.io/reader (granted by)",
				"  secret/registry (pulls images for) is not there",
				"  pod/web-1 (runs as)",
				"    poddisruptionbudget.policy/web (protects)",
				"    networkpolicy.networking.k8s.io/web (restricts)",
				"    service/web (selects)",
				"      ingress.networking.k8s.io/front (routes to)",
			},
		},
		{
			"what is in the tree by itself is not drawn again", []ownertree.Ref{s.ref("configmap", "settings"), s.ref("deployment", "web"), s.ref("service", "web")},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			within := *s
			within.T = t
			s := &within
			g, nodes, relations := s.relate(ownertree.ScopeOf(tt.refs, true), tt.refs...)
			branches := g.Tree(nodes, ownertree.TreeOptions{Up: true, Down: true})
			ownertree.Related(branches, relations)
			got := drawn(branches, "")
			if tt.want == nil {
				if full := strings.Count(strings.Join(got, "\n")+"\n", "pod/web-1\n"); full != 1 {
					t.Errorf("the pod is drawn in full %d times:\n%s", full, strings.Join(got, "\n"))
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRelateOfNode: of all pods of a cluster only those of the node are read.
func TestRelateOfNode(t *testing.T) {
	s := startShop(t)
	s.create("", "{apiVersion: v1, kind: Node, metadata: {name: node-1}}")
	s.create("shop", "{apiVersion: v1, kind: Pod, metadata: {name: elsewhere}, spec: {serviceAccountName: web, nodeName: node-2, containers: [{name: c, image: i}]}}")
	_, _, relations := s.relate(ownertree.Scope{Nothing: true}, s.ref("node", "node-1"))
	want := []string{
		"ingress.networking.k8s.io/front routes to service/web",
		"networkpolicy.networking.k8s.io/web restricts pod/web-1",
		"pod/web-1 runs on node/node-1",
		"poddisruptionbudget.policy/web protects pod/web-1",
		"service/web selects pod/web-1",
	}
	if diff := cmp.Diff(want, relationLines(relations)); diff != "" {
		t.Errorf("relations (-want +got):\n%s", diff)
	}
}

// TestRelateGroups: what all accounts may do is shown for an account that was asked for, and not of every pod.
func TestRelateGroups(t *testing.T) {
	s := startShop(t)
	s.create("", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: everybody}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: whole},
		subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated"}]}`)
	s.create("shop", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: shop-all}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: whole},
		subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:shop"}]}`)
	s.create("", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: elsewhere}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: whole},
		subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:other"}]}`)
	s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: whole}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: whole}}]}}")
	s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: part, labels: {part-of: whole}}}")
	const everybody = "serviceaccount/web granted rights by clusterrolebinding.rbac.authorization.k8s.io/everybody"
	for _, tt := range []struct {
		reason    string
		from      ownertree.Ref
		has, lack []string
	}{
		{
			"an account", s.ref("serviceaccount", "web"),
			[]string{
				everybody, "serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/shop-all",
				"clusterrole.rbac.authorization.k8s.io/whole aggregates clusterrole.rbac.authorization.k8s.io/part",
			}, []string{"elsewhere"},
		},
		{
			"a pod's account", s.ref("pod", "web-1"), []string{
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/shop-all",
				"clusterrole.rbac.authorization.k8s.io/whole aggregates clusterrole.rbac.authorization.k8s.io/part",
			}, []string{everybody, "elsewhere"},
		},
		{
			"a role that is a part of another", s.ref("clusterrole", "part"), []string{
				"clusterrole.rbac.authorization.k8s.io/whole aggregates clusterrole.rbac.authorization.k8s.io/part",
				"rolebinding.rbac.authorization.k8s.io/shop-all grants clusterrole.rbac.authorization.k8s.io/whole",
				"serviceaccount/web granted rights by rolebinding.rbac.authorization.k8s.io/shop-all",
			}, []string{everybody, "runs as"},
		},
	} {
		_, _, relations := s.relate(ownertree.ScopeOf([]ownertree.Ref{tt.from}, true), tt.from)
		lines := strings.Join(relationLines(relations), "\n") + "\n"
		for _, want := range tt.has {
			if !strings.Contains(lines, want+"\n") {
				t.Errorf("%s: %s is not among\n%s", tt.reason, want, lines)
			}
		}
		for _, other := range tt.lack {
			if strings.Contains(lines, other) {
				t.Errorf("%s: %s is among\n%s", tt.reason, other, lines)
			}
		}
	}
}

// TestRelateStorage: from a claim to where its volume is attached and what drives it, and back from a driver.
func TestRelateStorage(t *testing.T) {
	s := startSandbox(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	s.create("shop", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	s.create("", "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.example.com}, spec: {}}")
	s.create("", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example.com}")
	s.create("shop", "{apiVersion: v1, kind: Secret, metadata: {name: stage}}")
	s.create("", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-0}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, storageClassName: fast,
		csi: {driver: csi.example.com, volumeHandle: h, nodeStageSecretRef: {namespace: shop, name: stage}}, claimRef: {namespace: shop, name: data}}}`)
	s.create("shop", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeName: pv-0, resources: {requests: {storage: 1Gi}}}}")
	s.create("shop", "{apiVersion: v1, kind: Pod, metadata: {name: db-0}, spec: {containers: [{name: c, image: i}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}")
	s.create("", "{apiVersion: v1, kind: Node, metadata: {name: node-1}}")
	s.create("", "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: va}, spec: {attacher: csi.example.com, nodeName: node-1, source: {persistentVolumeName: pv-0}}}")
	volume := []string{
		"persistentvolume/pv-0 attached by volumeattachment.storage.k8s.io/va",
		"persistentvolume/pv-0 driven by csidriver.storage.k8s.io/csi.example.com (optional)",
		"persistentvolume/pv-0 has credentials in secret/stage",
		"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
		"persistentvolumeclaim/data bound to persistentvolume/pv-0",
		"persistentvolumeclaim/data of class storageclass.storage.k8s.io/fast",
		"pod/db-0 mounts persistentvolumeclaim/data",
		"storageclass.storage.k8s.io/fast provisioned by csidriver.storage.k8s.io/csi.example.com (optional)",
		"volumeattachment.storage.k8s.io/va attached to node/node-1",
		"volumeattachment.storage.k8s.io/va driven by csidriver.storage.k8s.io/csi.example.com (optional)",
	}
	for _, tt := range []struct {
		reason string
		from   ownertree.Ref
		want   []string
	}{
		{"a pod: all of its storage", s.ref("pod", "db-0"), volume},
		{
			"a driver: all that it drives", s.ref("csidriver", "csi.example.com"), slices.DeleteFunc(slices.Clone(volume), func(line string) bool {
				return strings.Contains(line, "credentials") || strings.Contains(line, "node-1")
			}),
		},
		{
			"a node: what it has attached", s.ref("node", "node-1"), []string{
				"persistentvolume/pv-0 attached by volumeattachment.storage.k8s.io/va", "persistentvolumeclaim/data bound to persistentvolume/pv-0",
				"pod/db-0 mounts persistentvolumeclaim/data", "volumeattachment.storage.k8s.io/va attached to node/node-1",
			},
		},
	} {
		_, _, relations := s.relate(ownertree.Scope{Nothing: true}, tt.from)
		if diff := cmp.Diff(tt.want, relationLines(relations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestRelateServers: from a Service to what the API server asks it for, and back.
func TestRelateServers(t *testing.T) {
	s := startSandbox(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	s.create("shop", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	s.create("shop", "{apiVersion: v1, kind: Service, metadata: {name: hook}, spec: {selector: {app: hook}, ports: [{port: 443}]}}")
	s.create("shop", "{apiVersion: v1, kind: Pod, metadata: {name: hook-1, labels: {app: hook}}, spec: {containers: [{name: c, image: i}]}}")
	const client = "clientConfig: {service: {namespace: shop, name: hook}}, sideEffects: None, admissionReviewVersions: [v1], rules: []"
	s.create("", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: checks}, webhooks: [{name: a.example.com, "+client+"}]}")
	s.create("", "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: changes}, webhooks: [{name: a.example.com, "+client+"}]}")
	s.create("", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, spec: {group: example.com, scope: Namespaced,
		names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: shop, name: hook}}}},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	asked := []string{
		"customresourcedefinition.apiextensions.k8s.io/gadgets.example.com converted by service/hook",
		"mutatingwebhookconfiguration.admissionregistration.k8s.io/changes calls service/hook",
		"service/hook selects pod/hook-1",
		"validatingwebhookconfiguration.admissionregistration.k8s.io/checks calls service/hook",
	}
	for _, tt := range []struct {
		reason string
		from   ownertree.Ref
		want   []string
	}{
		{"a service", s.ref("service", "hook"), asked},
		{"a pod of it: definitions are many and large, and so not looked for", s.ref("pod", "hook-1"), asked[1:]},
		{"a webhook", s.ref("mutatingwebhookconfiguration", "changes"), asked[1:3]},
		{"a definition", s.ref("crd", "gadgets.example.com"), []string{asked[0], asked[2]}},
	} {
		_, _, relations := s.relate(ownertree.Scope{Nothing: true}, tt.from)
		if diff := cmp.Diff(tt.want, relationLines(relations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestRelateNeedsOnly: what an object cannot do without is found by few requests, and nothing else.
func TestRelateNeedsOnly(t *testing.T) {
	s := sharedShop(t)
	refs := []ownertree.Ref{s.ref("deployment", "web")}
	g, nodes := s.load(s.kinds(), ownertree.ScopeOf(refs, true), refs...)
	pod := g.Find(s.kind("pods"), "shop", "web-1")
	relations, missing, err := g.Relate(t.Context(), s.reader, append(nodes, pod), ownertree.RelateOptions{NeedsOnly: true})
	if err != nil || len(missing) > 0 {
		t.Fatalf("incomplete: %v, %v", missing, err)
	}
	want := []string{
		"persistentvolume/pv-0 of class storageclass.storage.k8s.io/fast",
		"persistentvolumeclaim/data-db-0 bound to persistentvolume/pv-0",
		"persistentvolumeclaim/data-db-0 of class storageclass.storage.k8s.io/fast",
		"pod/web-1 mounts configmap/settings",
		"pod/web-1 mounts persistentvolumeclaim/data-db-0",
		"pod/web-1 pulls images with secret/registry, which is not there",
		"pod/web-1 reads secret/password",
		"pod/web-1 runs as serviceaccount/web",
		"pod/web-1 runs on node/node-1, which is not there",
		"serviceaccount/web pulls images with secret/registry, which is not there",
	}
	if diff := cmp.Diff(want, relationLines(relations)); diff != "" {
		t.Errorf("relations (-want +got):\n%s", diff)
	}
	var lacks []string
	for _, lack := range ownertree.Lacks([]*ownertree.Node{pod}, relations)[pod] {
		lacks = append(lacks, lack.Object.String()+" named by "+lack.NamedBy.String())
	}
	if diff := cmp.Diff([]string{"node/node-1 named by pod/web-1", "secret/registry named by pod/web-1"}, lacks); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// TestPodSelector: whether labels select a pod is known only where all pods have been read.
func TestPodSelector(t *testing.T) {
	s := sharedShop(t)
	for _, tt := range []struct {
		reason         string
		scope          ownertree.Scope
		namespace, app string
		selects, known bool
	}{
		{"a pod has the label", ownertree.Scope{Namespaces: []string{"shop"}}, "shop", "web", true, true},
		{"none has", ownertree.Scope{Namespaces: []string{"shop"}}, "shop", "other", false, true},
		{"another namespace was not read", ownertree.Scope{Namespaces: []string{"shop"}}, "default", "web", false, false},
		{"everything was read", ownertree.Scope{}, "default", "web", false, true},
		{"nothing was read", ownertree.Scope{Nothing: true}, "shop", "web", false, false},
	} {
		g, err := ownertree.Collect(t.Context(), s.reader, s.kinds(), tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		if selects, known := g.PodSelector()(tt.namespace, map[string]string{"app": tt.app}); selects != tt.selects || known != tt.known {
			t.Errorf("%s: %t, %t", tt.reason, selects, known)
		}
	}
}
