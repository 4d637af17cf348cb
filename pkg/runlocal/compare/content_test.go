package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// TestContentWithoutAdditions: what the API adds to what a controller has sent is not compared.
func TestContentWithoutAdditions(t *testing.T) {
	tests := []struct{ reason, sent, stored string }{
		{
			reason: "the API makes the selector of a Job, and labels with its uid",
			sent: `
spec: {backoffLimit: 6, template: {spec: {containers: [{name: main}]}}}`,
			stored: `
metadata: {labels: {controller-uid: u1, job-name: one, batch.kubernetes.io/controller-uid: u1}}
spec:
  backoffLimit: 6
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u1}}
  template: {metadata: {labels: {controller-uid: u1, batch.kubernetes.io/job-name: one}}, spec: {containers: [{name: main}]}}`,
		},
		{
			reason: "other labels of a Job are compared",
			sent: `
metadata: {labels: {app: web}}
spec: {backoffLimit: 6, template: {metadata: {labels: {app: web}}}}`,
			stored: `
metadata: {labels: {app: web, job-name: one}}
spec: {backoffLimit: 6, template: {metadata: {labels: {app: web, job-name: one}}}}`,
		},
		{
			reason: "whether a slice has the time of its trigger depends on when the controller looks",
			sent:   `metadata: {annotations: {a: b}}`,
			stored: `metadata: {annotations: {a: b, endpoints.kubernetes.io/last-change-trigger-time: "2026-01-02T03:04:05Z"}}`,
		},
		{
			reason: "admission gives a claim a class and a finalizer, which belong to no manager",
			sent: `
metadata: {labels: {app: db}, finalizers: [example.com/mine]}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
			stored: `
metadata:
  labels: {app: db}
  finalizers: [example.com/mine, kubernetes.io/pvc-protection]
  managedFields:
  - manager: kube-controller-manager
    operation: Update
    fieldsV1:
      f:metadata: {f:labels: {.: {}, f:app: {}}, f:finalizers: {.: {}, 'v:"example.com/mine"': {}}}
      f:spec: {f:accessModes: {}, f:resources: {f:requests: {.: {}, f:storage: {}}}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: standard}`,
		},
		{
			reason: "a webhook adds a container, and an annotation to an object that had none",
			sent:   `spec: {template: {spec: {containers: [{name: main, image: web}]}}}`,
			stored: `
metadata:
  annotations: {mesh: "on"}
  managedFields:
  - manager: kube-controller-manager
    operation: Update
    fieldsV1: {f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {}}}}}}}
spec: {template: {spec: {containers: [{name: proxy, image: mesh}, {name: main, image: web, env: [{name: A}]}]}}}`,
		},
		{
			reason: "a claim is seen in this version or in that",
			sent:   `spec: {claimRef: {name: data, uid: u1, resourceVersion: "7"}}`,
			stored: `spec: {claimRef: {name: data, uid: u1, resourceVersion: "9"}}`,
		},
		{
			reason: "another cluster signs other tokens, and has another root certificate",
			sent: `
type: kubernetes.io/service-account-token
data: {ca.crt: YQ==, namespace: c2hvcA==, token: Yg==}`,
			stored: `
type: kubernetes.io/service-account-token
data: {ca.crt: Yw==, namespace: c2hvcA==, token: ZA==}`,
		},
		{
			reason: "a node is tainted at another time",
			sent:   `spec: {taints: [{key: a, effect: NoExecute, timeAdded: "2026-01-02T03:04:05Z"}]}`,
			stored: `spec: {taints: [{key: a, effect: NoExecute, timeAdded: "2026-02-03T04:05:06Z"}]}`,
		},
		{
			reason: "the root certificate is published",
			sent:   "{metadata: {name: kube-root-ca.crt}, data: {ca.crt: one}}",
			stored: `
metadata:
  name: kube-root-ca.crt
  managedFields: [{manager: kube-controller-manager, operation: Update, fieldsV1: {f:data: {.: {}, f:ca.crt: {}}}}]
data: {ca.crt: other}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			sent, stored := contentOf(yamlFields(t, tt.sent), VerbCreate), contentOf(yamlFields(t, tt.stored), VerbCreate)
			if diff := cmp.Diff(sent, stored); diff != "" {
				t.Errorf("content (-sent +stored):\n%s", diff)
			}
		})
	}
}

// TestIssuedCertificate: each certificate that is issued is another one; that it is, is compared.
func TestIssuedCertificate(t *testing.T) {
	one := contentOf(yamlFields(t, `status: {certificate: YQ==, conditions: [{type: Approved}]}`), VerbUpdateStatus)
	other := contentOf(yamlFields(t, `status: {certificate: Yg==, conditions: [{type: Approved}]}`), VerbUpdateStatus)
	timed := contentOf(yamlFields(t, `
status: {certificate: YQ==, conditions: [{type: Approved, lastTransitionTime: "2026-01-02T03:04:05Z"}]}`), VerbUpdateStatus)
	if diff := cmp.Diff(one, timed); diff != "" {
		t.Errorf("the API adds the time of a condition, which is compared:\n%s", diff)
	}
	none := contentOf(yamlFields(t, `status: {conditions: [{type: Approved}]}`), VerbUpdateStatus)
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("two certificates are not the same:\n%s", diff)
	}
	if cmp.Equal(one, none) {
		t.Error("a request with a certificate and one without are the same")
	}
}

// TestOnDelete: of a set whose strategy is OnDelete, users delete the pods of old revisions.
func TestOnDelete(t *testing.T) {
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		pod := yamlFields(t, `
metadata:
  name: one
  namespace: shop
  labels: {controller-revision-hash: old}
  ownerReferences: [{apiVersion: apps/v1, kind: `+kind+`, name: set, uid: u1, controller: true}]
spec: {nodeName: node-1}`)
		c := newChange(fields.Mask{Resource: core("pods")}, "shop", "one", pod, nil)
		for strategy, want := range map[string]bool{"RollingUpdate": true, "OnDelete": false} {
			owner := yamlFields(t, `
metadata: {name: set, namespace: shop, uid: u1}
spec: {replicas: 1, updateStrategy: {type: `+strategy+`}}`)
			state := index{
				ownerResource(controllerOwner(pod)):     {"shop/set": owner},
				schema.GroupResource{Resource: "nodes"}: {"node-1": yamlFields(t, `metadata: {name: node-1}`)},
				apps("controllerrevisions"): {"shop/new": yamlFields(t, `
metadata: {name: new, namespace: shop, ownerReferences: [{name: set, uid: u1, controller: true}], labels: {controller-revision-hash: new}}
revision: 2`)},
			}
			deletes := statefulSetDeletes
			if kind == "DaemonSet" {
				deletes = daemonSetDeletes
			}
			if got := deletes(state, c); got != want {
				t.Errorf("%s with %s deletes a pod of an old revision: %t, want %t", kind, strategy, got, want)
			}
		}
	}
}
