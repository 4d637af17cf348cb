package root

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// documented is a command line in the documentation.
type documented struct {
	line int
	args []string // what follows `kubectl reconcile`
}

var (
	// called is where a command line begins, in code.
	called = regexp.MustCompile(`(?:^|[|(;&]\s*)kubectl[ -]reconcile\s`)
	// codeSpan is code in a line of text.
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// commandsIn returns the command lines of a page in Markdown: those in blocks of shell commands, after the prompt in what
// a terminal shows, and those in code within text.
func commandsIn(text string) []documented {
	var out []documented
	block := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, at := strings.TrimSpace(lines[i]), i+1
		if language, ok := strings.CutPrefix(line, "```"); ok {
			switch {
			case block != "":
				block = ""
			case language == "":
				block = "text"
			default:
				block = language
			}
			continue
		}
		switch block {
		case "console", "sh":
			typed, ok := strings.CutPrefix(line, "$ ")
			if block == "console" && !ok {
				continue
			}
			for strings.HasSuffix(typed, `\`) && i+1 < len(lines) {
				i++
				typed = strings.TrimSuffix(typed, `\`) + strings.TrimSpace(lines[i])
			}
			out = append(out, commandLines(typed, at)...)
		case "":
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				out = append(out, commandLines(strings.ReplaceAll(m[1], `\|`, "|"), at)...)
			}
		}
	}
	return out
}

// commandLines returns the calls of the program in what is typed in a shell.
func commandLines(typed string, line int) []documented {
	var out []documented
	for _, at := range called.FindAllStringIndex(typed, -1) {
		out = append(out, documented{line, words(typed[at[1]:])})
	}
	return out
}

// words returns the words of a simple command: until a pipe, a comment, a redirection, or the end of a substitution.
func words(typed string) []string {
	var out []string
	word, quote, inWord := "", rune(0), false
	end := func() {
		if inWord {
			out = append(out, word)
		}
		word, inWord = "", false
	}
	for _, r := range typed {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|;&)>", r), r == '#' && !inWord:
			end()
			return out
		default:
			word, inWord = word+string(r), true
		}
	}
	end()
	return out
}

func TestWords(t *testing.T) {
	for typed, want := range map[string][]string{
		"tree deploy/web -o json | jq .":             {"tree", "deploy/web", "-o", "json"},
		"run --controller '*,-csr' -f -":             {"run", "--controller", "*,-csr", "-f", "-"},
		"get pods > out   # comment":                 {"get", "pods"},
		"replay f --at '#12' --field \"a b\"":        {"replay", "f", "--at", "#12", "--field", "a b"},
		"envtest-assets) go test ./...":              {"envtest-assets"},
		"completion kubectl   # then it is complete": {"completion", "kubectl"},
	} {
		if diff := cmp.Diff(want, words(typed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typed, diff)
		}
	}
}

// placeholder is a word that stands for others: NAMES, […], and what a reader puts in its place.
var placeholder = regexp.MustCompile(`^[[<(]|…|\.\.\.`)

// TestDocumentedCommands: each command line in the documentation has a command that exists, with flags that it has and
// with as many arguments as it takes.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../../../README.md", "../../../../CONTRIBUTING.md", "../../../../.github/SECURITY.md")
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commandsIn(string(text)) {
			if len(c.args) == 0 || strings.Join(c.args, " ") == magic {
				continue
			}
			checked++
			if err := check(c.args); err != nil {
				t.Errorf("%s:%d: kubectl reconcile %s: %v", filepath.Base(page), c.line, strings.Join(c.args, " "), err)
			}
		}
	}
	if checked < 120 {
		t.Errorf("only %d commands were found", checked)
	}
}

// magic follows the name of the program in the first bytes of a recording.
const magic = "recording"

// TestExamples checks the examples in the help of commands in the same way.
func TestExamples(t *testing.T) {
	checked := 0
	var examples func(cmd *cobra.Command)
	examples = func(cmd *cobra.Command) {
		block := "```sh\n" + cmd.Example + "\n```\n"
		for _, c := range commandsIn(block) {
			checked++
			if err := check(c.args); err != nil {
				t.Errorf("the help of %s: kubectl reconcile %s: %v", cmd.CommandPath(), strings.Join(c.args, " "), err)
			}
		}
		for _, below := range cmd.Commands() {
			examples(below)
		}
	}
	examples(New("kubectl-reconcile", genericiooptions.NewTestIOStreamsDiscard()))
	if checked < 60 {
		t.Errorf("only %d commands were found", checked)
	}
}

// check reports what is wrong with arguments. What stands for other words is left out.
func check(args []string) error {
	root := New("kubectl-reconcile", genericiooptions.NewTestIOStreamsDiscard())
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	var known []string
	standsForMore := false
	for _, word := range rest {
		if placeholder.MatchString(word) {
			standsForMore = true
			continue
		}
		known = append(known, word)
	}
	if err := cmd.ParseFlags(known); err != nil {
		if standsForMore && strings.Contains(err.Error(), "flag needs an argument") {
			return nil
		}
		return err
	}
	if standsForMore {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}
