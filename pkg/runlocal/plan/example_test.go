package plan_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.29"}]}
`

// planChange returns what controllers would do if manifests were applied where others have been.
func planChange(ctx context.Context, before, after io.Reader) (*plan.Plan, error) {
	objects, err := runlocal.ParseManifests(before)
	if err != nil {
		return nil, err
	}
	changed, err := runlocal.ParseManifests(after)
	if err != nil {
		return nil, err
	}
	return plan.Make(ctx, plan.Objects(objects), plan.Change{Manifests: changed}, plan.Options{})
}

// What controllers do with the pods of a Deployment whose image changes. With a *plan.Cluster in the place of
// plan.Objects it is what they would do in a cluster.
func ExampleMake() {
	changed := strings.NewReader(strings.Replace(web, "1.29", "1.30", 1))
	made, err := planChange(context.Background(), strings.NewReader(web), changed)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range made.Steps {
		for _, write := range step.Writes {
			if !step.Simulated && !write.OnlyStatus() {
				fmt.Printf("%d %q %s %s\n", step.Number, step.Controller, write.Verb, write.Object.Kind)
			}
		}
	}
	for _, rollout := range made.Rollouts {
		fmt.Println("at least", rollout.Lowest, "of", rollout.Before, "ready")
	}
	// Output:
	// 1 "" update Deployment
	// 2 "deployment" create ReplicaSet
	// 2 "deployment" update Deployment
	// 4 "replicaset" create Pod
	// 8 "deployment" update ReplicaSet
	// 9 "replicaset" delete Pod
	// at least 1 of 1 ready
}
