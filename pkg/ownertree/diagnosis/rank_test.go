package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

var pods = &cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespaced: true}

// on is a cause that a pod shows.
func on(pod string, severity, depth int, c inspect.Cause) *Cause {
	chain := make([]Link, depth)
	for i := range chain {
		chain[i].Node = &ownertree.Node{Kind: pods, Name: pod}
	}
	return &Cause{Cause: c, Chain: chain, severity: severity}
}

func TestRank(t *testing.T) {
	certain := func(t inspect.CauseType, w inspect.Weight) inspect.Cause {
		return inspect.Cause{Type: t, Certainty: inspect.Certain, Weight: w}
	}
	missing := certain(inspect.MissingObject, inspect.Specific)
	missing.Refers = &inspect.Reference{Kind: "Secret", Name: "tls"}
	sameByEvent := missing
	sameByEvent.Detail, sameByEvent.Part = "mounts", "volume tls"
	byReference := on("a", 6, 3, missing)
	possible := certain(inspect.GenerationNotSeen, inspect.Specific)
	possible.Certainty = inspect.Possible
	numbered := func(detail string) inspect.Cause {
		c := certain(inspect.ContainerExits, inspect.Specific)
		c.Detail = detail
		return c
	}
	pulled := func(detail string) inspect.Cause {
		c := certain(inspect.ImagePull, inspect.Specific)
		c.Detail = detail
		return c
	}
	for _, row := range []struct {
		reason string
		causes []*Cause
		want   string
	}{
		{"nothing", nil, ""},
		{
			"a symptom goes when anything explains it",
			[]*Cause{on("a", 6, 1, certain(inspect.PodsNotReady, inspect.Symptom)), on("b", 2, 3, certain(inspect.StateFailed, inspect.General))},
			"StateFailed",
		},
		{
			"of symptoms alone one is enough",
			[]*Cause{on("a", 2, 1, certain(inspect.PodsNotReady, inspect.Symptom)), on("a", 2, 1, certain(inspect.ProgressDeadline, inspect.Symptom))},
			"ProgressDeadline",
		},
		{
			"what is known comes before what a component reports, though that is worse",
			[]*Cause{on("a", 6, 1, certain(inspect.ConditionFailed, inspect.General)), on("b", 2, 3, certain(inspect.ImagePull, inspect.Specific))},
			"ImagePull ConditionFailed",
		},
		{
			"what is missing comes first, what was paused last",
			[]*Cause{on("a", 6, 1, certain(inspect.Paused, inspect.Specific)), on("b", 2, 3, certain(inspect.ImagePull, inspect.Specific)), on("c", 2, 3, missing)},
			"MissingObject ImagePull Paused",
		},
		{
			"a controller that has had no time is named late",
			[]*Cause{on("a", 2, 1, possible), on("b", 2, 3, certain(inspect.ImagePull, inspect.Specific))},
			"ImagePull GenerationNotSeen",
		},
		{
			"several pods with the same cause, whatever they count",
			[]*Cause{on("a", 6, 3, numbered("exit code 1, restarted 3 times")), on("b", 6, 3, numbered("exit code 1, restarted 12 times"))},
			"ContainerExits+1",
		},
		{
			"another exit code is another cause",
			[]*Cause{on("a", 6, 3, numbered("exit code 1, restarted 3 times")), on("b", 6, 3, numbered("exit code 2, restarted 3 times"))},
			"ContainerExits ContainerExits",
		},
		{
			"other numbers are counts and names",
			[]*Cause{on("a", 6, 3, numbered("exit code 12: worker 1")), on("b", 6, 3, numbered("exit code 12: worker 2"))},
			"ContainerExits+1",
		},
		{
			"another tag is another image",
			[]*Cause{on("a", 6, 3, pulled("image nginx:1.27: not found")), on("b", 6, 3, pulled("image nginx:1.28: not found"))},
			"ImagePull ImagePull",
		},
		{
			"the same image in two pods",
			[]*Cause{on("a", 6, 3, pulled("image nginx:1.27: not found")), on("b", 6, 3, pulled("image nginx:1.27: not found"))},
			"ImagePull+1",
		},
		{
			"the same that is missing, found in two ways",
			[]*Cause{byReference, {Cause: sameByEvent, Chain: byReference.Chain, severity: 6}},
			"MissingObject",
		},
		{
			"of equals the worse, then the deeper",
			[]*Cause{
				on("a", 2, 4, certain(inspect.ImagePull, inspect.Specific)), on("b", 6, 2, certain(inspect.OutOfMemory, inspect.Specific)),
				on("c", 6, 3, certain(inspect.LivenessProbe, inspect.Specific)),
			},
			"LivenessProbe OutOfMemory ImagePull",
		},
	} {
		for _, reversed := range []bool{false, true} {
			causes := slices.Clone(row.causes)
			for i, c := range causes {
				copied := *c
				causes[i] = &copied
			}
			if reversed {
				slices.Reverse(causes)
			}
			var got []string
			for _, c := range rank(causes) {
				name := string(c.Type)
				if len(c.Others) > 0 {
					name += "+1"
				}
				got = append(got, name)
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("%s (reversed: %t): %s, want %s", row.reason, reversed, text, row.want)
			}
		}
	}
}
