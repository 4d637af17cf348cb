package tap

import (
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
