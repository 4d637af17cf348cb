package plans

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoadRefuses(t *testing.T) {
	const begin = "about: it\nsteps: [{quiet: true}]\n"
	for _, c := range []struct{ reason, file, want string }{
		{"no change", begin, "needs kubectl"},
		{"a change by other means", begin + "change: {create: [{}]}", "needs kubectl"},
		{"two inputs", begin + "change: {kubectl: [{}], create: [{}]}", "more than one input"},
		{"a field that is not known", begin + "chnage: {}", "chnage"},
		{"a rule without a reason", begin + "change: {kubectl: [{}]}\nrules: [{at: x, as: ends}]", "needs at, reason"},
		{"nothing at the beginning", "about: it\nchange: {kubectl: [{}]}", "needs about and steps"},
	} {
		files := fstest.MapFS{"cases/one.yaml": {Data: []byte(c.file)}}
		if _, err := Load(files, "cases"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}
