package timeline_test

import (
	"fmt"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

const incident = "../../../cmd/kubectl-reconcile/testdata/docs/incident.rec"

// whoChanged prints who changed a field of objects of a kind in a recording, and when.
func whoChanged(file, kind, field string) error {
	changes := timeline.ReadFile(file, timeline.Options{Filter: timeline.Filter{
		Kinds: []string{kind}, Fields: []string{field}, Types: []timeline.Type{timeline.Modified},
	}})
	for e, err := range changes {
		if err != nil {
			return err
		}
		for _, change := range e.Change.Fields {
			fmt.Println(e.Time.Format(time.TimeOnly), e.Object.Name, change, "by", e.Writer.Name())
		}
	}
	return nil
}

// Who changed a field in a recording.
func Example() {
	if err := whoChanged(incident, "deployments", "spec.replicas"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 20:44:35 web spec.replicas: 3 -> 5 by kubectl
}
