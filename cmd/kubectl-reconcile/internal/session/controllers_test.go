package session

import (
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestSelectControllers(t *testing.T) {
	for _, row := range []struct{ reason, list, want, err string }{
		{"nothing is asked for", "", "", ""},
		{"none is asked for", "none", "", ""},
		{"two", "replicaset,deployment", "deployment,replicaset", ""},
		{"none and one", "none,job", "", "--controller none,job: none cannot be combined with others"},
		{
			"only what to leave out", "-deployment,-job", "",
			"--controller -deployment,-job leaves no controller to run; hint: -NAME leaves one out of others: did you mean --controller '*,-deployment,-job'?",
		},
		{
			"what is left out first", "-job,job", "",
			"--controller -job,job leaves no controller to run; hint: -NAME leaves one out of others: did you mean --controller '*,-job,job'?",
		},
		{
			"near to none", "none1", "",
			`no controller "none1" in kube-controller-manager; hint: did you mean none? ` +
				"controllers are named as kube-controller-manager names them; `run --list` lists them",
		},
	} {
		selected, err := SelectControllers(row.list)
		if got := strings.Join(ShortNames(selected), ","); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
		if got := oneText(err); got != row.err {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.err)
		}
	}
}

func TestEverythingLeftOut(t *testing.T) {
	list := "*"
	for _, c := range controllers.All() {
		if c.Runs() {
			list += ",-" + c.Short
		}
	}
	if _, err := SelectControllers(list); !strings.HasSuffix(oneText(err), "; hint: `run --list` lists those that there are") {
		t.Errorf("nothing is left of all: %v", err)
	}
}

func TestFlagWithout(t *testing.T) {
	for _, row := range []struct{ reason, list, out, want string }{
		{"one of two", "deployment,ttl", "ttl", "--controller deployment"},
		{"by its other name", "deployment,ttl-controller", "ttl", "--controller deployment"},
		{"one of all", "*", "ttl", "--controller '*,-ttl'"},
		{"of all but one", "*,-job", "ttl", "--controller '*,-job,-ttl'"},
		{"one that * does not have", "*,tokencleaner", "tokencleaner", "--controller '*'"},
		{"the only one", "ttl", "ttl", ""},
	} {
		if got := FlagWithout(row.list, known(t, row.out)); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
	}
}

// known returns controllers by their short names.
func known(t *testing.T, short ...string) []controllers.Controller {
	t.Helper()
	of, err := controllers.Select(short)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// oneText returns an error as it is printed, on one line.
func oneText(err error) string {
	if err == nil {
		return ""
	}
	var printed strings.Builder
	cli.PrintError(&printed, err)
	text := strings.TrimPrefix(strings.TrimSuffix(printed.String(), "\n"), "error: ")
	return strings.ReplaceAll(text, "\n", "; ")
}
