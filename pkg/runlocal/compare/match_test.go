package compare

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestStatusesInARow: a status that was recorded later answers a write if those before it need not have been seen.
func TestStatusesInARow(t *testing.T) {
	deployments := replay.Stream{Group: "apps", Resource: "deployments"}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	status := func(after time.Duration, replicas int64) *event {
		return &event{
			record: &replay.Record{Name: "web", Time: start.Add(after)}, stream: &deployments, verb: VerbUpdateStatus,
			content: untyped.Map{"status": map[string]any{"replicas": replicas}}, hiding: newHiding(replay.Header{}, nil),
		}
	}
	other := &event{
		record: &replay.Record{Name: "web-1", Time: start},
		stream: &replay.Stream{Group: "apps", Resource: "replicasets"}, verb: VerbUpdate,
	}
	one, two, late := status(0, 1), status(100*time.Millisecond, 2), status(5*time.Second, 2)
	last, played := status(5*time.Second, 3), status(0, 0)
	played.played = true
	for _, tc := range []struct {
		effects []*event
		when    moment
		want    outcome
		event   *event
		between bool
		reason  string
	}{
		{[]*event{two}, early, same, two, false, "it is the next"},
		{[]*event{played, one, two}, early, same, two, false, "both were written within a second: the first may not be seen"},
		{[]*event{other, one, two}, early, same, two, false, "what comes before the first is of another sort"},
		{[]*event{one, other, two}, early, premature, nil, false, "something else was written between"},
		{[]*event{one, other, two}, due, merged, one, false, "something else must be written between"},
		{[]*event{one, late}, early, premature, nil, false, "there was time to see the first"},
		{[]*event{one, late}, due, same, late, false, "the first was not written"},
		{[]*event{one, last}, due, different, one, false, "there was time to see the first"},
		{[]*event{one, last}, due, merged, one, true, "what was recorded after the first has been played before"},
		{[]*event{one}, early, premature, nil, false, "it may come"},
		{[]*event{one}, due, different, one, false, "it does not come"},
	} {
		w := &write{
			verb: VerbUpdateStatus, object: trace.Object{Group: "apps", Resource: "deployments", Name: "web"},
			content: two.content,
		}
		if got, ev := match(w, tc.effects, tc.when, one, func(_, _ *event) bool { return tc.between }); got != tc.want || ev != tc.event {
			t.Errorf("outcome %d of %s, want %d of %s: %s", got, ev, tc.want, tc.event, tc.reason)
		}
	}
}

// TestOtherNode: a pod that a DaemonSet makes beside an old one may be made on any node where the old ones are alike.
func TestOtherNode(t *testing.T) {
	pod := func(name, node, image, phase string) untyped.Map {
		return yamlFields(t, `
metadata:
  name: `+name+`
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u1, controller: true}]
spec:
  containers: [{name: c, image: `+image+`}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [`+node+`]}]}]
status: {phase: `+phase+`}
`)
	}
	for _, tc := range []struct {
		image  string // of the new pod
		node   string // that it is made on, while node-1 was recorded
		want   bool
		reason string
	}{
		{"a:2", "node-2", true, "the old pods are alike"},
		{"a:2", "node-3", false, "the old pod there has not started"},
		{"a:2", "node-4", false, "no old pod is there"},
		{"a:3", "node-2", false, "the image is another, too"},
	} {
		r := &run{objects: map[objectID]*objectState{}}
		for name, old := range map[string]untyped.Map{
			"one": pod("one", "node-1", "a:1", "Running"), "two": pod("two", "node-2", "a:1", "Running"),
			"three": pod("three", "node-3", "a:1", "Pending"),
		} {
			r.object(objectID{core("pods"), "shop", name}).current = old
		}
		recorded := &event{verb: VerbCreate, content: contentOf(pod("new", "node-1", "a:2", "Pending"), VerbCreate)}
		w := &write{
			verb: VerbCreate, object: trace.Object{Resource: "pods", Namespace: "shop"},
			content: contentOf(pod("new", tc.node, tc.image, "Pending"), VerbCreate),
		}
		if got := r.isOtherNode(w, recorded); got != tc.want {
			t.Errorf("%s on %s: %t, want %t: %s", tc.image, tc.node, got, tc.want, tc.reason)
		}
	}
}

// TestLastStatus: what the last status of an object says depends on when its controller looks, if it is gone a moment
// later.
func TestLastStatus(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for gone, want := range map[time.Duration]int{500 * time.Millisecond: 0, 5 * time.Second: 1} {
		stream := &replay.Stream{Group: "apps", Version: "v1", Resource: "replicasets"}
		at := func(position int, typ replay.Type, after time.Duration) *event {
			return &event{position: position, stream: stream, record: &replay.Record{
				Type: typ, Namespace: "shop", Name: "web", Time: began.Add(after)}}
		}
		status := at(1, replay.TypeModified, 0)
		status.verb, status.effect = VerbUpdateStatus, &effect{controller: "replicaset", key: "shop/web"}
		r := &run{keys: map[keyID]*keyState{}, objects: map[objectID]*objectState{}}
		r.object(status.objectID()).coming = []*event{status, at(2, replay.TypeDeleted, gone)}
		r.judge(status, false)
		result := r.key(keyID{"replicaset", "shop/web"}).result
		if len(result.Missing) != want || result.Merged != 1-want {
			t.Errorf("gone after %s: %d missing and %d merged, want %d missing", gone, len(result.Missing), result.Merged, want)
		}
	}
}
