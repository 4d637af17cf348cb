package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

func TestConditions(t *testing.T) {
	bare := StatusRow{Name: "pod/x", Now: statusNow(), Report: inspect.Report{Status: inspect.Status{Status: inspect.Current}}}
	for _, tt := range []struct {
		o      StatusOptions
		want   string
		reason string
	}{
		{StatusOptions{Namespaces: true}, `
shop deployment.apps/web   InProgress   2 of 3 updated pods available   generation 4, observed 3 (1 behind)
  TYPE          STATUS   REASON                       SINCE   OBSERVED
  Available     False    MinimumReplicasUnavailable   12m     -
      not enough⏎ of them
  Progressing   True     ReplicaSetUpdated            -       -

pod/x   Current
  no conditions
`, "each condition in full; objects apart"},
		{StatusOptions{TableOptions: TableOptions{Width: 50, NoHeader: true}}, `
deployment.apps/web   InProgress   2 of 3 updated
      pods available   generation 4, observed 3 (1
      behind)
  Available    False  MinimumReplicasUnavailable
      not enough⏎ of them
  Progressing  True   ReplicaSetUpdated

pod/x   Current
  no conditions
`, "lines are wrapped, and columns that matter less make room for reasons"},
	} {
		var out bytes.Buffer
		if err := Conditions(&out, []StatusRow{webRow(), bare}, tt.o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
