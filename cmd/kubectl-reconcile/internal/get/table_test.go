package get

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TestInvalidObjects: what no API server would have stored is a row without columns, and a warning, and others are shown.
func TestInvalidObjects(t *testing.T) {
	for _, row := range []struct {
		reason  string
		gvk     schema.GroupVersionKind
		objects []string
		rows    [][]any
		warning string
	}{
		{"a kind with columns", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			[]string{`{"metadata":{"name":"a"},"data":{"k":"v"}}`}, [][]any{{"a", int64(1), "<unknown>"}}, ""},
		{"a metric without what its type needs",
			schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
			[]string{`{"metadata":{"name":"bad"},"spec":{"metrics":[{"type":"Pods"}]}}`,
				`{"metadata":{"name":"good"},"spec":{"maxReplicas":3}}`},
			[][]any{{"bad"}, {"good", "/", "cpu: <unknown>/80%", 1, 3, 0, "<unknown>"}},
			"warning: the columns of horizontalpodautoscaler.autoscaling/bad cannot be made: the object is not valid: "},
		{"a field of another type", schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
			[]string{`{"metadata":{"name":"odd"},"spec":{"containers":"none"}}`}, [][]any{{"odd"}},
			"warning: the columns of pod/odd cannot be made: "},
	} {
		streams, _, _, errOut := genericiooptions.NewTestIOStreams()
		m := newTabler(&Options{streams: streams, at: recordedAt, clock: clocktesting.NewFakePassiveClock(realTime)}, nil)
		list := &objectList{kind: cluster.Kind{GroupVersionKind: row.gvk}}
		for _, text := range row.objects {
			list.objects = append(list.objects, json.RawMessage(text))
		}
		made, err := m.table(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]any
		for _, r := range made.rows {
			got = append(got, r.cells)
		}
		if fmt.Sprint(got) != fmt.Sprint(row.rows) {
			t.Errorf("%s: %v, want %v", row.reason, got, row.rows)
		}
		if !strings.HasPrefix(errOut.String(), row.warning) || (row.warning == "") != (errOut.Len() == 0) {
			t.Errorf("%s: it said %q, want %q", row.reason, errOut, row.warning)
		}
	}
}

// TestFlags: what a command line must have.
func TestFlags(t *testing.T) {
	for _, row := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"without a recording", []string{"pods"}, "get shows a moment of a recording: it needs --from"},
		{"a moment of nothing", []string{"pods", "--at", "+1s"}, "--at is a moment of a recording"},
		{"without a type", []string{"--from", "a.rec"}, "get needs the type of the objects"},
		{"an unknown format", []string{"pods", "--from", "a.rec", "-o", "xml"}, `unknown output format "xml"`},
		{"labels of a document", []string{"pods", "--from", "a.rec", "-o", "json", "--show-labels"},
			"--show-labels and -o json exclude each other"},
		{"managed fields of a table", []string{"pods", "--from", "a.rec", "--show-managed-fields"},
			"--show-managed-fields needs -o json or -o yaml"},
	} {
		f := &Flags{cluster: connect.NewFlags(), targets: connect.NewTargetFlags()}
		cmd := newCommand(genericiooptions.NewTestIOStreamsDiscard(), f)
		cmd.SetContext(t.Context())
		if err := cmd.ParseFlags(row.args); err != nil {
			t.Fatal(err)
		}
		_, err := f.toOptions(genericiooptions.NewTestIOStreamsDiscard(), cmd.Flags().Args())
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.reason, err, row.want)
		}
	}
}
