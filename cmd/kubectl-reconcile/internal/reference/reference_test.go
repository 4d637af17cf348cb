package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const docs = "../../../../docs"

// TestReference compares docs/reference with the help of the commands. They are read with an unusual home: nothing of it
// may be in a page.
func TestReference(t *testing.T) {
	home := filepath.Join(t.TempDir(), "unusual")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "KUBECONFIG", "TMPDIR"} {
		t.Setenv(name, home)
	}
	want := markdownPages(readCommands())
	got := map[string]string{}
	files, err := filepath.Glob(filepath.Join(docs, "reference", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(f)] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/reference is not what the commands' help says: run `make reference` (-help +docs/reference):\n%s", diff)
	}
	for name, text := range want {
		if strings.Contains(text, home) {
			t.Errorf("%s has a path of this machine", name)
		}
	}
}

// TestGuides: each command has a page in docs that shows it with examples.
func TestGuides(t *testing.T) {
	for _, p := range readCommands().all() {
		if len(p.guides) == 0 {
			t.Errorf("%s: guides in page.go has no page of docs for it", p.name)
		}
		for _, g := range p.guides {
			if _, err := os.Stat(filepath.Join(docs, g.file)); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	got := blocks("One\nparagraph.\n\nA list:\n  A  first\n  B  second\n\n#### Linux:\n\n\tsource <(x)\n\nThe end.")
	want := []block{
		{"One\nparagraph.", false}, {"A list:", false}, {"A  first\nB  second", true},
		{"Linux:", false}, {"source <(x)", true}, {"The end.", false},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ reason, text, markdown, man string }{
		{"flags are set apart", "with --from-cluster, or -A (see --at).", "with `--from-cluster`, or `-A` (see `--at`).",
			`with \fB\-\-from\-cluster\fR, or \fB\-A\fR (see \fB\-\-at\fR).`},
		{"what only looks like a flag is not", "-NAME leaves one out; -2m", "-NAME leaves one out; -2m", "-NAME leaves one out; -2m"},
		{"commands are set apart", "as `kubectl get -w` has", "as `kubectl get -w` has", `as \fBkubectl get \-w\fR has`},
		{"what Markdown would take for emphasis, HTML or a link", "'*' or '*:x', <NAME>, a[b](c)",
			`'\*' or '\*:x', &lt;NAME>, a\[b\](c)`, `\(aq*\(aq or \(aq*:x\(aq, <NAME>, a[b](c)`},
		{"a cell ends at a bar", "a|b", "a|b", "a|b"},
		{"what roff would take for a request, or for its own", ".TH \\fB", `.TH \\fB`, `\&.TH \efB`},
		{"letters that are not ASCII", "FILE… 5µs", "FILE… 5µs", `FILE... 5\[u00B5]s`},
		{"a line must not become a request by that", "…", "…", `\&...`},
	} {
		if got := markdownText(tt.text); got != tt.markdown {
			t.Errorf("%s: %q is %q in Markdown, want %q", tt.reason, tt.text, got, tt.markdown)
		}
		if got := roffText(tt.text); got != tt.man {
			t.Errorf("%s: %q is %q in roff, want %q", tt.reason, tt.text, got, tt.man)
		}
	}
	if got := markdownCell("a|b\nc"); got != `a\|b c` {
		t.Errorf("a cell of a table: %q", got)
	}
}

// TestManPages reads the man pages by groff, if it is there.
func TestManPages(t *testing.T) {
	pages := manPages(readCommands(), release{"v1.2.3", time.Date(2026, 1, 31, 23, 0, 0, 0, time.FixedZone("", 3600))})
	const name = "kubectl-reconcile-tree.1"
	page := pages[name]
	if want := `.TH "KUBECTL\-RECONCILE\-TREE" 1 "2026-01-31" "kubectl\-reconcile v1.2.3" "kubectl reconcile"`; !strings.HasPrefix(page, want) {
		t.Errorf("%s begins with %.120q, want %q", name, page, want)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	for name, text := range pages {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-ww", "-P-c", "-rLL=78n")
		cmd.Stdin = strings.NewReader(text)
		var problems strings.Builder
		cmd.Stderr = &problems
		shown, err := cmd.Output()
		if err != nil || problems.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, problems.String())
		}
		if left := regexp.MustCompile(`\\[a-z(]|\[u[0-9A-F]{4}\]`).Find(shown); left != nil {
			t.Errorf("%s: %q is left of what roff should have read", name, left)
		}
	}
}
