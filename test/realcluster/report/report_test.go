package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func suites() []Suite {
	return []Suite{
		{
			Name: "API", Unit: "requests",
			Rows: []Row{
				{Name: "lists", About: "in pages |\nand at once", Counts: Counts{Same: 4, Meant: 1}},
				{Name: "watches", About: "from a version", Counts: Counts{Same: 2, Different: 1}},
			},
			Meant: []Meant{{Where: "lists/* body|x", Reason: "it is random", Times: 1}},
		},
		{Name: "Controllers", Unit: "scenarios",
			Rows:     []Row{{Name: "rolling", About: "an update", Counts: Counts{Same: 1}}},
			Loose:    []Loose{{Where: "write * events", As: "ignored", Reason: "they are combined"}},
			Repeated: []string{"rolling"}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	for _, s := range suites() {
		if err := Write(dir, s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(suites(), got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder without reports is taken: a suite that did not run would look like one without differences")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "api.json"), []byte(`{"name":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "api.json") {
		t.Errorf("a report that is cut off: %v, want an error that names the file", err)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, suites()); err != nil {
		t.Fatal(err)
	}
	const want = `SUITE         COMPARED      SAME   MEANT TO DIFFER   DIFFERENT
API           8 requests    6      1                 1
Controllers   1 scenarios   1      0                 0
1 scenarios were repeated: rolling
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := Page(&out, suites()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**8 requests and 1 scenarios compared, 1 different.**",
		"| API | 8 requests | 6 | 1 | 1 |\n",
		"| lists | in pages \\| and at once | 5 | 4 | 1 | 0 |\n",
		"| `lists/* body\\|x` | it is random | 1 |\n",
		"| `write * events` | ignored | they are combined |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Count(out.String(), "Meant to differ:") != 1 {
		t.Error("a suite in which nothing is meant to differ has a list of it")
	}
	if strings.Contains(out.String(), "repeated: ") {
		t.Error("the page names what was repeated, which differs from run to run")
	}
}
