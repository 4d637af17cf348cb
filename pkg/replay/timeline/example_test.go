package timeline_test

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

const incident = "../../../cmd/kubectl-reconcile/testdata/docs/incident.rec"

// whoChanged prints who changed a field of objects of a kind in a recording, and when.
func whoChanged(file, kind, field string) error {
	recording, err := replay.OpenFile(file, replay.ReaderOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = recording.Close() }()
	changes := timeline.New(recording, timeline.Options{Filter: timeline.Filter{
		Kinds: []string{kind}, Fields: []string{field}, Types: []timeline.Type{timeline.Modified},
	}})
	for {
		e, err := changes.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, change := range e.Change.Fields {
			fmt.Println(e.Time.Format(time.TimeOnly), e.Object.Name, change, "by", e.Writer.Name())
		}
	}
}

// Who changed a field in a recording.
func Example() {
	if err := whoChanged(incident, "deployments", "spec.replicas"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 20:44:35 web spec.replicas: 3 -> 5 by kubectl
}
