package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func replicaSet(name, labels string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %s, labels: %s}
spec:
  replicas: 1
  selector: {matchLabels: %s}
  template:
    metadata: {labels: %s}
    spec: {containers: [{name: c, image: a}]}`, name, labels, labels, labels)
}

// TestAdoption: what adopts an object, and then deletes it or scales it down, comes after what its own controller does
// and after the scheduler, since it asks the API first.
func TestAdoption(t *testing.T) {
	for _, tt := range []struct{ reason, from, change, of, want string }{
		{
			"a pod of which there are enough", replicaSet("web", "{app: web}"), `
apiVersion: v1
kind: Pod
metadata: {name: more, labels: {app: web}}
spec: {containers: [{name: c, image: a}]}`, "Pod more", `
create
scheduler update
replicaset update
replicaset delete
kubelet update
kubelet delete`,
		},
		{
			"a ReplicaSet of an older template", deployment(1, "a"), replicaSet("more", "{app: web, more: and}"),
			"Pod more-<1>", `
replicaset create
scheduler update
kubelet update
replicaset delete
kubelet update
kubelet delete`,
		},
	} {
		p := planOf(t, tt.from, tt.change, RunOptions{})
		got := ""
		for i := range p.Steps {
			step := &p.Steps[i]
			for _, w := range step.Writes {
				if line := strings.TrimSpace(step.Controller + " " + string(w.Verb)); w.Object.Kind+" "+w.Object.Name == tt.of &&
					!strings.HasSuffix(got, "\n"+line) {
					got += "\n" + line
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: writes of %s (-want +got):\n%s", tt.reason, tt.of, diff)
		}
	}
}
