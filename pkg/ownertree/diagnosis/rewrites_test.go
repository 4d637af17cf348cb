package diagnosis

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// TestRewritten: of an object with which nothing is wrong, three reads show whether it is written all the time.
func TestRewritten(t *testing.T) {
	for _, row := range []struct {
		reason  string
		written time.Duration // before the first read
		// values are those of data.seen at each read; nothing is written for an empty one.
		values []string
		want   []string
		reads  int
	}{
		{"written at each read", time.Second, []string{"2", "3"}, []string{
			"data.seen by op", "Field data.seen 2 -> 3", "Writer op has written it since",
		}, 2},
		{"between reads the same value came back", time.Second, []string{"2", "0"}, []string{
			"data.seen by op", "Field data.seen 2 -> 0", "Writer op has written it since",
		}, 2},
		{"written once more", time.Second, []string{"2", ""}, nil, 2},
		{"not written since", time.Second, []string{"", ""}, nil, 1},
		{"not written lately", time.Minute, []string{"2", "3"}, nil, 0},
	} {
		clock := clocktesting.NewFakeClock(at)
		s := newServer(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  resourceVersion: "1"
  managedFields:
  - {manager: op, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}, time: "`+
			at.Add(-row.written).Format(time.RFC3339)+`"}
data: {seen: "0"}
`)
		read, reader := s.read("ConfigMap/a")
		reads := 0
		s.reads = func(obj *unstructured.Unstructured) {
			if reads++; row.values[reads-1] == "" {
				return
			}
			obj.SetResourceVersion(fmt.Sprint(reads + 1))
			obj.Object["data"] = map[string]any{"seen": row.values[reads-1]}
			managers := obj.GetManagedFields()
			managers[0].Time.Time = at.Add(time.Duration(reads) * time.Second)
			obj.SetManagedFields(managers)
		}
		ctx, end := context.WithCancel(t.Context())
		var steps sync.WaitGroup
		steps.Go(func() {
			for ctx.Err() == nil {
				if clock.HasWaiters() {
					clock.Step(readsApart)
				}
			}
		})
		err := read.ReadRewrites(t.Context(), reader, clock)
		end()
		steps.Wait()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range read.Diagnose(at).Causes {
			if c.Type == Rewritten && c.Certainty == inspect.Certain {
				got = append(got, c.Detail)
				for _, e := range c.Evidence {
					got = append(got, fmt.Sprint(e.Source, " ", e.Name, " ", e.Text))
				}
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" || reads != row.reads {
			t.Errorf("%s: %d reads, not %d (-want +got):\n%s", row.reason, reads, row.reads, diff)
		}
	}
}
