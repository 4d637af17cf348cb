package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b   string
		want   int
		reason string
	}{
		{"", "", 0, "nothing differs"},
		{"abc", "abc", 0, "nothing differs"},
		{"", "abc", 3, "three to insert"},
		{"abc", "", 3, "three to remove"},
		{"abc", "axc", 1, "one to replace"},
		{"rnu", "run", 1, "swapped neighbours are one slip of the fingers"},
		{"deploymnt", "deployment", 1, "one left out"},
		{"ca", "abc", 3, "a swapped pair is not edited again"},
		{"replicaset", "statefulset", 8, "what has little in common is far"},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d: %s", tt.a, tt.b, got, tt.want, tt.reason)
		}
		if there, back := distance(tt.a, tt.b), distance(tt.b, tt.a); there != back {
			t.Errorf("distance(%q, %q) = %d, but %d the other way", tt.a, tt.b, there, back)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"deployment", "deployment-controller", "replicaset", "replicaset-controller", "replicationcontroller", "replicationcontroller-controller", "statefulset", "job", "cronjob"}
	for _, tt := range []struct {
		name   string
		want   []string
		reason string
	}{
		{"rob", []string{"job"}, "one of three letters"},
		{"web", nil, "two of three letters are another word"},
		{"deploymnt", []string{"deployment"}, "a letter left out"},
		{"Deployment", []string{"deployment"}, "written as the kind is"},
		{"depl", []string{"deployment", "deployment-controller"}, "cut short: names that begin so, nearest first"},
		{"rep", []string{"replicaset", "replicaset-controller", "replicationcontroller"}, "three at most"},
		{"statefulsets", []string{"statefulset"}, "the plural"},
		{"jbo", []string{"job"}, "short names may be misspelt too"},
		{"somethingelse", nil, "nothing is near"},
	} {
		if diff := cmp.Diff(tt.want, Suggest(tt.name, known)); diff != "" {
			t.Errorf("Suggest(%q): %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
	served := []string{"apps/v1 Deployment", "networking.k8s.io/v1 Ingress", "networking.k8s.io/v1 IngressClass", "v1 Event", "events.k8s.io/v1 Event"}
	for _, tt := range []struct {
		name   string
		want   []string
		reason string
	}{
		{"extensions/v1beta1 Ingress", []string{"networking.k8s.io/v1 Ingress"}, "the same kind in another group, and no other"},
		{"apps/v1beta2 Deployment", []string{"apps/v1 Deployment"}, "in another version"},
		{"v1beta1 Event", []string{"events.k8s.io/v1 Event", "v1 Event"}, "in several groups"},
		{"apps/v1 Deploymnt", []string{"apps/v1 Deployment"}, "misspelt"},
		{"networking.k8s.io/v1 Gadget", nil, "a group alone is not near"},
	} {
		if diff := cmp.Diff(tt.want, Suggest(tt.name, served)); diff != "" {
			t.Errorf("Suggest(%q): %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
	if got := Suggest("deployment", nil); got != nil {
		t.Errorf("suggests %q where nothing is known", got)
	}
}

func TestSuggestion(t *testing.T) {
	for _, tt := range []struct {
		name, otherwise, want, reason string
	}{
		{"rn", "see the help", "did you mean run? see the help", "the nearest name and the advice"},
		{"rn", "", "did you mean run?", "without advice"},
		{"xxxxxxxx", "see the help", "see the help", "the advice alone"},
		{"xxxxxxxx", "", "", "nothing to say"},
	} {
		if got := Suggestion(tt.name, []string{"run"}, tt.otherwise); got != tt.want {
			t.Errorf("Suggestion(%q) = %q, want %q: %s", tt.name, got, tt.want, tt.reason)
		}
	}
}
