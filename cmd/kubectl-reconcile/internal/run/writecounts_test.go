package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

const noRight = `pods is forbidden: User "reader" cannot create resource "pods" in API group "" in the namespace "default"`

// dryCreate returns a create of pods in a dry run that had this answer.
func dryCreate(code int, message string) *trace.Request {
	return &trace.Request{Verb: "create", DryRun: true, Code: code, Message: message, Object: trace.Object{Group: "apps", Version: "v1", Resource: "pods"}}
}

func TestWriteRows(t *testing.T) {
	count := func(verb, group, resource, subresource string, objects, writes int, refusal ...any) trace.WriteCount {
		w := trace.WriteCount{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Objects: objects, Writes: writes}
		if len(refusal) > 0 {
			w.Code, w.Message = refusal[0].(int), refusal[1].(string)
		}
		return w
	}
	accepted := []trace.WriteCount{
		count("update", "apps", "deployments", "status", 2, 3), count("create", "", "pods", "", 1, 1), count("create", "apps", "replicasets", "", 2, 2),
	}
	fenced := count("update", "apps", "daemonsets", "", 1, 1, 0, "writing without a Lease: m has taken it")
	fenced.NotSent = true
	refused := []trace.WriteCount{
		count("update", "apps", "daemonsets", "", 1, 1, 0, "connection refused"), fenced,
		count("create", "apps", "replicasets", "", 1, 2, 403, `replicasets.apps "refused" is forbidden: nor this`),
		count("create", "apps", "replicasets", "", 1, 1, 409, "already exists"),
	}
	var refusals []string
	for _, r := range refused {
		refusals = append(refusals, refusalText(r))
	}
	if diff := cmp.Diff([]string{
		"update daemonsets.apps got no answer 1 time: connection refused",
		"update daemonsets.apps was not sent 1 time: writing without a Lease: m has taken it",
		"create replicasets.apps was refused 2 times (403): nor this",
		"create replicasets.apps was refused 1 time (409): already exists",
	}, refusals); diff != "" {
		t.Errorf("what was refused (-want +got):\n%s", diff)
	}
	rows := []render.WriteRow{
		{Verb: "update", Resource: "daemonsets.apps", Refused: 2}, {Verb: "update", Resource: "deployments.apps/status", Objects: 2, Writes: 3},
		{Verb: "create", Resource: "pods", Objects: 1, Writes: 1}, {Verb: "create", Resource: "replicasets.apps", Objects: 2, Writes: 2, Refused: 3},
	}
	if diff := cmp.Diff(rows, writeRows(accepted, refused)); diff != "" {
		t.Errorf("rows, those of which nothing was taken among them (-want +got):\n%s", diff)
	}
}

func TestNotShown(t *testing.T) {
	for _, test := range []struct {
		of     render.NotShown
		want   string
		reason string
	}{
		{render.NotShown{}, "", "all was shown"},
		{render.NotShown{Idle: 1}, "not shown: 1 reconcile wrote nothing; -v shows them", "one"},
		{render.NotShown{Idle: 2, Repeated: 3}, "not shown: 2 reconciles wrote nothing, 3 came to the same as before; -v shows them", "both"},
		{render.NotShown{Idle: 2, PutOff: 3}, "not shown: 5 reconciles wrote nothing (3 put off); -v shows them", "what was put off is among them"},
		{render.NotShown{PutOff: 1, Conflicts: 1}, "not shown: 2 reconciles wrote nothing (1 put off, 1 conflict); -v shows them", "so are conflicts"},
	} {
		if got := notShown(test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
func TestUnverifiedWrites(t *testing.T) {
	right := trace.FailingKey{Unverified: dryCreate(403, noRight)}
	away := trace.FailingKey{Unverified: dryCreate(0, "connection refused")}
	const text = "what would be written is not known: the writes of "
	why := strings.TrimPrefix(noRight, "pods is forbidden: ")
	for _, test := range []struct {
		reason, want, hint string
		mode               guard.Mode
		unverified         []trace.FailingKey
	}{
		{"all is known", "", "", guard.Server, nil},
		{"permissions", text + "1 key could not be tried: create pods.apps: " + why, "--dry-run=client sends no write, and needs no permission to", guard.Server, []trace.FailingKey{right}},
		{"client", text + "1 key could not be tried: create pods.apps: " + why, "", guard.Client, []trace.FailingKey{right}},
		{"away", text + "2 keys could not be tried: create pods.apps: connection refused", "", guard.Server, []trace.FailingKey{away, away}},
	} {
		o := &Options{cluster: &clusterRun{}}
		o.cluster.options.DryRun = test.mode
		err := o.unverifiedWrites(test.unverified)
		got, hint := "", ""
		if err != nil {
			got = err.Error()
		}
		if h := (*cli.HintError)(nil); errors.As(err, &h) {
			hint = h.Hint
		}
		if got != test.want || hint != test.hint {
			t.Errorf("%s: got %q and the hint %q", test.reason, got, hint)
		}
	}
}
