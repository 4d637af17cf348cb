package fields

import "testing"

func TestOverlap(t *testing.T) {
	for _, row := range []struct {
		path, other string
		want        bool
		reason      string
	}{
		{"spec.replicas", "spec.replicas", true, "the same"},
		{"spec.replicas", "spec", true, "below"},
		{"spec.replicas", "spec.replica", false, "a name that it only begins with"},
		{"spec.replicas", "status.replicas", false, "another field"},
		{"status.conditions[type=Ready].status", "status.conditions[Ready]", true, "the key of an entry is left out"},
		{"status.conditions[type=Ready]", "status.conditions[Ready]", true, "a whole entry"},
		{"status.conditions", "status.conditions[Ready]", true, "the list as a whole"},
		{"status.conditions[type=ReadyToo]", "status.conditions[Ready]", false, "another entry"},
		{"status", "status.conditions[Ready]", true, "all of the status"},
		{"status.condition", "status.conditions[Ready]", false, "another field"},
		{"status.conditions[type=example.com/Ready].status", "status.conditions[example.com/Ready]", true,
			"a type with a prefix"},
		{"metadata.labels.app", "metadata.labels[app]", true, "brackets in the place of a dot"},
		{"metadata.annotations[example.com/team]", "metadata.annotations[example.com/team]", true, "a name with dots"},
		{"metadata.annotations[example.com/team]", "metadata.annotations", true, "all annotations"},
	} {
		if got := Overlap(row.path, row.other); got != row.want {
			t.Errorf("%s and %s: %t: %s", row.path, row.other, got, row.reason)
		}
		if got := Overlap(row.other, row.path); got != row.want {
			t.Errorf("%s and %s: %t, the other way round: %s", row.other, row.path, got, row.reason)
		}
	}
}

func TestIsPart(t *testing.T) {
	for _, row := range []struct {
		path, of string
		want     bool
		reason   string
	}{
		{"metadata", "metadata", true, "itself"},
		{"metadata.labels", "metadata", true, "below"},
		{"spec[0]", "spec", true, "an entry"},
		{"metadata", "metadata.labels", false, "above"},
		{"metadatas", "metadata", false, "a longer name"},
	} {
		if got := IsPart(row.path, row.of); got != row.want {
			t.Errorf("%s of %s: %t: %s", row.path, row.of, got, row.reason)
		}
	}
}
