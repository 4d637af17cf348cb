package tap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestUnsynced: readiness is that every informer has listed what there is.
func TestUnsynced(t *testing.T) {
	tap, _ := recording()
	source := newSource(t)
	source.Add(testPod("old", "a"))
	i := podInformer(tap, source)
	want := map[schema.GroupResource]bool{{Resource: "pods"}: true}
	if diff := cmp.Diff(want, tap.State().Unsynced); diff != "" {
		t.Errorf("before the informer runs (-want +got):\n%s", diff)
	}
	start(t, i)
	eventually(t, "the initial list", i.HasSynced)
	if got := tap.State().Unsynced; len(got) > 0 {
		t.Errorf("afterwards %v", got)
	}
}

func TestLoad(t *testing.T) {
	s := State{Controllers: []ControllerState{
		{Name: "a", Queues: []QueueState{{Queued: 3, Running: 1}, {Queued: 4}}},
		{Name: "b", Held: 1, Requests: 2, Queues: []QueueState{{Running: 2}}}, {Name: "c", Queues: []QueueState{{Queued: 1}}},
		{Name: "d", Requests: 1}, {Name: "e", Held: 1},
	}}
	if queued, running := s.Load(); queued != 8 || running != 5 {
		t.Errorf("%d queued, %d running, want 8 and 5", queued, running)
	}
	if got := strings.Join(s.Busy(), " "); got != "a b d e" {
		t.Errorf("busy are %s, want those that work or wait for an answer", got)
	}
}
