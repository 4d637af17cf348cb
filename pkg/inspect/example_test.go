package inspect_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

const deployment = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {
		"name": "web", "namespace": "shop", "generation": 4,
		"managedFields": [{
			"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "apps/v1",
			"time": "2026-01-01T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}
		}]
	},
	"spec": {"replicas": 3},
	"status": {
		"observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2,
		"conditions": [{"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"}]
	}
}`

// The status of an object, whether its controller has seen its latest change, and who set a field of it.
func Example() {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(deployment)); err != nil {
		fmt.Println(err)
		return
	}
	report := inspect.Inspect(object, nil)
	fmt.Println(report.Status.Status+":", report.Reason)
	for _, c := range report.Conditions {
		fmt.Println(c.Type, c.Status, "bad:", c.Bad)
	}
	fmt.Println("drifted:", report.Drifted(), report.Drift.State)

	path, err := fields.ParsePath("spec.replicas")
	if err != nil {
		fmt.Println(err)
		return
	}
	field, err := fields.Owners(object, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, owner := range field.Owners {
		fmt.Println("spec.replicas:", owner.Manager)
	}
	// Output:
	// InProgress: observed generation is 3, not yet 4
	// Available False bad: true
	// drifted: true Behind
	// spec.replicas: kubectl-client-side-apply
}
