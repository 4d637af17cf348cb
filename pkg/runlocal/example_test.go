package runlocal_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

const web = `{
	"apiVersion": "apps/v1", "kind": "Deployment",
	"metadata": {"name": "web"},
	"spec": {
		"replicas": 3,
		"selector": {"matchLabels": {"app": "web"}},
		"template": {
			"metadata": {"labels": {"app": "web"}},
			"spec": {"containers": [{"name": "web", "image": "nginx"}]}
		}
	}
}`

// Two controllers of Kubernetes make a Deployment ready, in a sandbox with a simulated node. Options.Recorder
// would get the trace of what they do.
func Example() {
	ctx := context.Background()
	session, err := runlocal.Start(ctx, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := session.Stop(); err != nil {
			fmt.Println(err)
		}
	}()

	deployment := &unstructured.Unstructured{}
	if err := deployment.UnmarshalJSON([]byte(web)); err != nil {
		fmt.Println(err)
		return
	}
	applied, err := session.Apply(ctx, "default", []runlocal.Manifest{{Source: "web.json", Object: deployment}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.WaitReady(ctx, applied); err != nil {
		fmt.Println(err)
		return
	}
	statuses, err := session.Statuses(ctx, applied)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range statuses {
		fmt.Println(s, s.Status.Status, s.Status.Ready)
	}
	// Output: deployment.apps/web Current 3/3
}
