package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseExitCodes(t *testing.T) {
	for _, test := range []struct {
		reason, value string
		want          map[string]int32
		err           string
	}{
		{"one", "1=3", map[string]int32{"1": 3}, ""},
		{"several, in any order", "4=0,1=255", map[string]int32{"1": 255, "4": 0}, ""},
		{"an empty value names no index", "", nil, `"" is not a completion index`},
		{"a code is not missing", "1=", nil, "index 1: \"\" is not a number from 0 to 255"},
		{"nor an index", "=3", nil, `"=3" is not a completion index`},
		{"a code is a byte", "1=256", nil, "index 1: \"256\""},
		{"an index is written as Kubernetes writes it", "01=3", nil, `"01=3" is not`},
		{"no index is below 0", "-1=3", nil, `"-1=3" is not`},
		{"which of two would count", "1=3,1=4", nil, "index 1 is there twice"},
	} {
		got, err := parseExitCodes(test.value)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.reason, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// FuzzParseExitCodes checks that what is understood says just what was written.
func FuzzParseExitCodes(f *testing.F) {
	for _, seed := range []string{"1=3", "4=0,1=255", "", "=", "1=3,", "1=+3", "1=03"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		codes, err := parseExitCodes(value)
		if err != nil {
			return
		}
		pairs := strings.Split(value, ",")
		if len(pairs) != len(codes) {
			t.Fatalf("%q has %d pairs, but %d codes were read", value, len(pairs), len(codes))
		}
		for index, code := range codes {
			if !slices.ContainsFunc(pairs, func(pair string) bool {
				before, after, _ := strings.Cut(pair, "=")
				return before == index && fmt.Sprint(code) == strings.TrimLeft(after[:len(after)-1], "0")+after[len(after)-1:]
			}) {
				t.Errorf("%q does not say %s=%d", value, index, code)
			}
		}
	})
}
