package snapshot

import "testing"

func TestIsNewer(t *testing.T) {
	for _, row := range []struct {
		version, than string
		want          bool
		reason        string
	}{
		{"10", "9", true, "they are numbers, not words"},
		{"9", "10", false, "the other way round"},
		{"10", "10", false, "the same is not newer"},
		{"12", "11", true, "as many digits"},
		{"18446744073709551617", "18446744073709551616", true, "more digits than a number of 64 bits has"},
		{"1", "", true, "the empty version is older than all"},
		{"", "1", false, "the empty version is not newer"},
		{"", "", false, "the empty version is as old as itself"},
		{"abc", "", false, "what is no number is no version"},
		{"abc", "abb", false, "what is no number has no order"},
		{"5", "abc", false, "a number is not newer than what is none"},
		{"abc", "5", false, "nor the other way round"},
		{"0", "", false, "0 is no version of an object"},
		{"5", "0", false, "and nothing is newer than it"},
		{"007", "5", false, "API servers write no leading zeros"},
	} {
		if got := IsNewer(row.version, row.than); got != row.want {
			t.Errorf("is %q newer than %q? got %t: %s", row.version, row.than, got, row.reason)
		}
	}
}

func TestVersionNumber(t *testing.T) {
	for _, row := range []struct {
		version string
		want    uint64
		reason  string
	}{
		{"42", 42, "a version"},
		{"18446744073709551615", 1<<64 - 1, "the largest one"},
		{"18446744073709551616", 0, "one that is too large"},
		{"", 0, "none"},
		{"0", 0, "any version"},
		{"007", 0, "leading zeros"},
		{"-1", 0, "a sign"},
		{"abc", 0, "no number"},
	} {
		if got := VersionNumber(row.version); got != row.want {
			t.Errorf("%q is %d, want %d: %s", row.version, got, row.want, row.reason)
		}
	}
}
