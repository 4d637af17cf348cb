package treestatus_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/runlocaltest"
)

// TestRead: the status of a pod, and the reason that is found in what it needs.
func TestRead(t *testing.T) {
	session := runlocaltest.Start(t, runlocal.Options{NoScheduling: true})
	objects, err := runlocal.ParseManifests(strings.NewReader(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, envFrom: [{configMapRef: {name: absent}}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Apply(t.Context(), "default", objects); err != nil {
		t.Fatal(err)
	}
	query := treestatus.Query{Namespace: "default", Objects: []string{"pod/web"}}
	tree, err := treestatus.Read(t.Context(), session.Config(), query)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range treestatus.Walk(tree.Tops) {
		line := n.Branch.Node.String() + " " + n.Status
		if n.Findings != nil {
			for _, lack := range n.Findings.Lacks {
				line += " needs " + lack.Object.String()
			}
		}
		lines = append(lines, line)
	}
	if diff := cmp.Diff([]string{"pod/web InProgress needs configmap/absent"}, lines); diff != "" || len(tree.Incomplete) > 0 {
		t.Errorf("could not be read: %v (-want +got):\n%s", tree.Incomplete, diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := treestatus.Read(ended, session.Config(), query); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context it returns %v", err)
	}
}
