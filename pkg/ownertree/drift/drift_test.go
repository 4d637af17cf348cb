package drift

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, text := range texts {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: d1
  generation: 4
  creationTimestamp: "2026-01-01T00:00:00Z"
  annotations:
    deployment.kubernetes.io/revision: "2"
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},
       "spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"a","resources":{"limits":{"cpu":1}}}]}}}}
  managedFields:
  - {manager: kubectl, operation: Update, subresource: scale, time: "2026-01-02T00:00:00Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: a, imagePullPolicy: Always, resources: {limits: {cpu: "1"}}}]}
status: {observedGeneration: %d, replicas: 5, updatedReplicas: 5, readyReplicas: %d, availableReplicas: 5}
`

const set = `
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  uid: r1
  generation: 1
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {app: web, pod-template-hash: "1"}
  annotations: {deployment.kubernetes.io/revision: "2"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]
  managedFields:
  - manager: kubectl-edit
    operation: Update
    time: "2026-01-03T00:00:00Z"
    fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:image": {}}}}}}}
spec:
  replicas: 5
  selector: {matchLabels: {app: web, pod-template-hash: "1"}}
  template:
    metadata: {labels: {app: web, pod-template-hash: "1"}}
    spec: {containers: [{name: c, image: %s, imagePullPolicy: Always, resources: {limits: {cpu: "1"}}}]}
status: {observedGeneration: 1, replicas: 5, readyReplicas: 5, availableReplicas: 5}
`

const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-1-x
  namespace: shop
  uid: p1
  labels: {app: other, pod-template-hash: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r1, controller: true}]
spec: {containers: [{name: c, image: a}]}
`

// lines is a line for each finding.
func lines(r Report) []string {
	var out []string
	for _, u := range r.Unseen {
		out = append(out, fmt.Sprintf("unseen %s %s", u.Object.GetName(), u.Drift.State))
	}
	for _, f := range r.SetFields {
		by, wantedBy := "-", "-"
		if f.By != nil {
			by = f.By.Manager
		}
		if f.WantedBy != nil {
			wantedBy = f.WantedBy.GetName()
		}
		out = append(out, fmt.Sprintf("field %s %s: %v, wanted %v by %s, set by %s", f.Object.GetName(), f.Path, f.Actual, f.Wanted,
			wantedBy, by))
	}
	for _, c := range r.Counts {
		out = append(out, fmt.Sprintf("count %s wants %d, ready %d", c.Object.GetName(), c.Wanted, *c.Ready))
	}
	return out
}

func TestFind(t *testing.T) {
	applied := "field web spec.replicas: 5, wanted 3 by -, set by kubectl"
	for _, tt := range []struct {
		reason  string
		objects []string
		want    []string
	}{
		{"what the server completes, and quantities, are no drift; a field that was scaled is", []string{fmt.Sprintf(web, 4, 5)}, []string{applied}},
		{"a controller that has not seen the spec", []string{fmt.Sprintf(web, 3, 5)}, []string{"unseen web Behind", applied}},
		{"pods that are not ready", []string{fmt.Sprintf(web, 4, 4)}, []string{applied, "count web wants 5, ready 4"}},
		{"a ReplicaSet that is as its Deployment wants it", []string{fmt.Sprintf(web, 4, 5), fmt.Sprintf(set, "a")}, []string{applied}},
		{"one whose template was edited", []string{fmt.Sprintf(web, 4, 5), fmt.Sprintf(set, "b")}, []string{
			applied, "field web-1 spec.template.spec.containers[name=c].image: b, wanted a by web, set by kubectl-edit"}},
		{"a ReplicaSet alone is not compared", []string{fmt.Sprintf(set, "b")}, nil},
		{"a pod whose label its owner does not select", []string{fmt.Sprintf(set, "a"), pod}, []string{
			"field web-1-x metadata.labels.app: other, wanted web by web-1, set by -"}},
		{"what controllers have copied from an owner is not applied", []string{`
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: db-1
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"replicas":2}}'`}, nil},
		{"an autoscaler that has not decided wants nothing", []string{`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
status: {currentReplicas: 3, desiredReplicas: 0}`}, nil},
		{"any content", []string{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{'}}, spec: 3}"},
			[]string{"count x wants 1, ready 0"}},
	} {
		if diff := cmp.Diff(tt.want, lines(Find(decode(t, tt.objects...)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestSecrets: what was applied as stringData is stored as data; that a value is another is said, and not which.
func TestSecrets(t *testing.T) {
	for _, tt := range []struct {
		reason, applied, data string
		want                  []string
	}{
		{"another value", `"data":{"a":"aHVudGVyMQ=="}`, "{a: aHVudGVyMg==}",
			[]string{"field s data.a: ***, wanted *** by -, set by -"}},
		{"a value that was taken away", `"data":{"a":"aHVudGVyMQ=="}`, "{}",
			[]string{"field s data.a: <nil>, wanted *** by -, set by -"}},
		{"text that is stored as data", `"stringData":{"a":"hunter1"}`, "{a: aHVudGVyMQ==}", nil},
		{"text wins over data, as in the API", `"data":{"a":"eA=="},"stringData":{"a":"hunter1"}`, "{a: aHVudGVyMQ==}",
			nil},
		{"another value than that of the text", `"stringData":{"a":"hunter1","b":"c"}`, "{a: aHVudGVyMg==, b: Yw==}",
			[]string{"field s data.a: ***, wanted *** by -, set by -"}},
		{"no text at all", `"stringData":{"a":1,"b":null},"data":null`, "{}", nil},
		{"nor a map", `"stringData":"x","data":[1]`, "{}", []string{"field s data: ***, wanted *** by -, set by -"}},
	} {
		r := Find(decode(t, `
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},`+
			tt.applied+`}'
data: `+tt.data))
		if diff := cmp.Diff(tt.want, lines(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
