package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

func statusNow() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: statusNow().Add(-d)} }

// webRow is a Deployment whose controller is one generation behind.
func webRow() StatusRow {
	return StatusRow{
		Namespace: "shop", Name: "deployment.apps/web", Short: "deployment/web", Created: ago(72 * time.Hour).Time, Now: statusNow(),
		Report: inspect.Report{
			Status: inspect.Status{Status: inspect.InProgress, Kstatus: "InProgress", Reason: "2 of 3 updated pods available", Ready: "2/3"},
			Drift:  inspect.Drift{Generation: 4, Observed: new(int64(3)), State: inspect.Behind},
			Conditions: []inspect.Condition{
				{Type: "Available", Status: "False", Reason: "MinimumReplicasUnavailable", Message: "not enough\nof them", Since: ago(12 * time.Minute), Bad: true, Drift: inspect.Behind},
				{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated", Drift: inspect.Behind},
			},
			Since: ago(12 * time.Minute),
		},
		Writer: &fields.Writer{Manager: "kube-controller-manager", Subresource: "status", Time: ago(time.Minute)},
	}
}

func TestStatusTable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      StatusOptions
		want   string
		reason string
	}{
		{"plain", StatusOptions{}, `
NAME                  STATUS       REASON                          GEN   OBSERVED   DRIFT      CONDITIONS                                   SINCE   AGE
deployment.apps/web   InProgress   2 of 3 updated pods available   4     3          1 behind   Available=False MinimumReplicasUnavailable   12m     3d
`, "without a terminal nothing is cut"},
		{"wide", StatusOptions{Wide: true, Namespaces: true}, `
NAMESPACE   NAME                  STATUS       READY   REASON                          GEN   OBSERVED   DRIFT      CONDITIONS                                   SINCE   AGE   KSTATUS      WRITTEN BY                         WRITTEN
shop        deployment.apps/web   InProgress   2/3     2 of 3 updated pods available   4     3          1 behind   Available=False MinimumReplicasUnavailable   12m     3d    InProgress   kube-controller-manager (status)   60s
`, "more columns"},
		{"80", StatusOptions{TableOptions: TableOptions{Width: 80}}, `
NAME            STATUS      REASON                         DRIFT     SINCE
deployment/web  InProgress  2 of 3 updated pods available  1 behind  12m
`, "what is read first has room: names are short, numbers that the drift sums up go"},
		{"40", StatusOptions{TableOptions: TableOptions{Width: 40, NoHeader: true}}, `
deployment/web  InProgress  2 of 3 upda…
`, "the name, the word and the reason"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := StatusTable(&out, []StatusRow{webRow()}, tt.o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestStatusDrift(t *testing.T) {
	behind := inspect.Condition{Type: "Ready", Status: "True", Generation: new(int64(1)), Drift: inspect.Behind}
	superseded := behind
	superseded.Superseded = true
	for _, tt := range []struct {
		drift      inspect.Drift
		conditions []inspect.Condition
		want       string
		reason     string
	}{
		{inspect.Drift{Generation: 4, Observed: new(int64(4)), State: inspect.InSync}, nil, "none", "seen"},
		{inspect.Drift{Generation: 4, Observed: new(int64(2)), State: inspect.Behind}, nil, "2 behind", "an older one was seen"},
		{inspect.Drift{Generation: 4, State: inspect.NotReported}, nil, "unknown", "not reported is not in sync"},
		{inspect.Drift{Generation: 1, State: inspect.NeverSeen}, nil, "never seen", "the controller of its kind reports of each object"},
		{inspect.Drift{State: inspect.NotReported}, nil, "-", "without generations nothing can be behind"},
		{inspect.Drift{Generation: 1, Observed: new(int64(3)), State: inspect.Ahead}, nil, "2 ahead", "unexpected, and shown"},
		{inspect.Drift{Generation: 3, Observed: new(int64(3)), State: inspect.InSync}, []inspect.Condition{behind}, "Ready 2 behind", "a condition alone is behind"},
		{inspect.Drift{Generation: 3, State: inspect.NotReported}, []inspect.Condition{behind, behind}, "2 conditions behind", "several are"},
		{inspect.Drift{Generation: 3, State: inspect.NotReported}, []inspect.Condition{superseded}, "unknown", "another parent has it of this generation"},
	} {
		row := StatusRow{Report: inspect.Report{Drift: tt.drift, Conditions: tt.conditions}}
		if got := row.drift().Text; got != tt.want {
			t.Errorf("%+v: %q, want %q: %s", tt.drift, got, tt.want, tt.reason)
		}
	}
}

func TestStatusConditions(t *testing.T) {
	for _, tt := range []struct {
		in     []inspect.Condition
		want   string
		tone   Tone
		reason string
	}{
		{nil, "-", ToneDim, "none"},
		{[]inspect.Condition{{Type: "Ready", Status: "True", Reason: "Done"}}, "Ready=True", ToneDim, "that all is well needs no reason"},
		{[]inspect.Condition{{Type: "Shiny", Status: "True"}}, "-", ToneDim, "it does not sum the object up"},
		{[]inspect.Condition{{Type: "Ready", Status: "False", Reason: "Broken", Bad: true}, {Type: "Synced", Status: "Unknown", Reason: "Waiting"}, {Type: "Fine", Status: "True"}},
			"Ready=False Broken, Synced=Unknown Waiting", ToneTrouble, "what asks for attention, with reasons"},
		{[]inspect.Condition{{Type: "Synced", Status: "Unknown"}}, "Synced=Unknown", ToneChange, "not known is not bad"},
		{[]inspect.Condition{{Type: "Ready", Status: "True", Generation: new(int64(1)), Drift: inspect.Behind}}, "Ready=True (of generation 1)", ToneChange, "good news of an older generation"},
		{[]inspect.Condition{{Type: "Ready", Status: "True", Drift: inspect.Behind}}, "Ready=True", ToneDim, "the drift of the object is in another column"},
	} {
		row := StatusRow{Report: inspect.Report{Conditions: tt.in}}
		if got := row.conditions(); got.Text != tt.want || got.Tone != tt.tone {
			t.Errorf("%+v: %+v, want %q in tone %d: %s", tt.in, got, tt.want, tt.tone, tt.reason)
		}
	}
}

func TestStatusTone(t *testing.T) {
	for word, want := range map[string]Tone{
		inspect.Current: TonePlain, inspect.Suspended: ToneDim, inspect.InProgress: ToneChange, inspect.Terminating: ToneChange,
		inspect.Failed: ToneTrouble, inspect.Degraded: ToneTrouble, inspect.Unknown: ToneTrouble,
	} {
		if got := StatusTone(inspect.Status{Status: word}); got != want {
			t.Errorf("%s has tone %d, want %d", word, got, want)
		}
	}
}
