package compare

import (
	"encoding/json"
	"fmt"
	"testing"
)

func web(replicas int, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: %q}]}
`, replicas, image)
}

func show(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRollout(t *testing.T) {
	for _, traced := range []bool{true, false} {
		t.Run(fmt.Sprintf("traced %t", traced), func(t *testing.T) {
			recording := record(t, traced, []string{"deployment", "replicaset"}, web(3, "nginx:1"), web(3, "nginx:2"), web(1, "nginx:2"))
			result, err := Run(within(t), recording, Options{Controllers: selected(t, "deployment", "replicaset")})
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsSame() {
				t.Errorf("Something differs: %s", show(t, result))
			}
			t.Log(show(t, result.Counts()), result.Unattributed, result.Inputs, result.Effects)
		})
	}
}
