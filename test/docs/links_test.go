package docs

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the project.
const root = "../.."

// ourFiles is what the address begins with under which a web site has the project's files.
const ourFiles = "https://github.com/kubectl-reconcile/kubectl-reconcile/blob/main/"

// pages returns the project's pages by their paths below root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", ".github/*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(text)
		}
	}
	if len(out) < 30 {
		t.Fatalf("found %d pages, which cannot be all", len(out))
	}
	return out
}

// TestLinksLeadSomewhere follows the links of all pages to files and their parts, and looks at the form of the others. It
// asks no server.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	known := map[string]map[string]bool{}
	for name, text := range all {
		known[name] = anchors(text)
	}
	for name, text := range all {
		for _, l := range links(text) {
			if err := follow(name, l.target, known); err != nil {
				t.Errorf("%s:%d: the link to %s: %v", name, l.line, l.target, err)
			}
		}
	}
}

// follow returns why a link on a page leads nowhere. known are the anchors of all pages.
func follow(page, target string, known map[string]map[string]bool) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if below, ours := strings.CutPrefix(target, ourFiles); ours {
		u, err = url.Parse("/" + below)
		if err != nil {
			return err
		}
		page, u.Path = "README.md", strings.TrimPrefix(u.Path, "/")
	} else if u.Scheme != "" || u.Host != "" {
		return checkURL(u)
	}
	file := page
	if u.Path != "" {
		file = path.Join(path.Dir(page), u.Path)
	}
	if path.IsAbs(u.Path) || file == ".." || strings.HasPrefix(file, "../") {
		return fmt.Errorf("%s is outside the project", file)
	}
	info, err := os.Stat(filepath.Join(root, file))
	if err != nil {
		return fmt.Errorf("there is no file %s", file)
	}
	if info.IsDir() {
		file = path.Join(file, "README.md")
	}
	if u.Fragment != "" && !known[file][u.Fragment] {
		return fmt.Errorf("%s has no heading #%s", file, u.Fragment)
	}
	return nil
}

// checkURL returns what is wrong with the form of an address of another site.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https":
		return fmt.Errorf("the scheme is %q, want https", u.Scheme)
	case !strings.Contains(u.Hostname(), ".") || strings.HasSuffix(u.Hostname(), "."):
		return fmt.Errorf("%q is no host on the internet", u.Hostname())
	case u.User != nil:
		return fmt.Errorf("it has the name of a user")
	}
	return nil
}

func TestFollow(t *testing.T) {
	known := map[string]map[string]bool{"docs/tree.md": {"json": true}, "README.md": {"use": true}}
	for _, tt := range []struct{ target, want, reason string }{
		{"tree.md", "", "beside the page"},
		{"tree.md#json", "", "a part of it"},
		{"#json", "", "a part of the page itself"},
		{"../README.md#use", "", "above it"},
		{"../examples/web.yaml", "", "a file that is no page"},
		{"../krew", "", "a folder"},
		{"../../etc/passwd", "outside the project", "a file that the reader does not have"},
		{"/docs/tree.md", "outside the project", "the root of a web site"},
		{"nosuch.md", "there is no file docs/nosuch.md", "a page that was renamed"},
		{"tree.md#nosuch", "docs/tree.md has no heading #nosuch", "a heading that was renamed"},
		{"tree.schema.json#json", "has no heading", "a file without headings"},
		{"https://kubernetes.io/docs/", "", "another site"},
		{ourFiles + "docs/tree.md#json", "", "a file of ours by its address"},
		{ourFiles + "docs/nosuch.md", "there is no file", "one that does not exist"},
		{"http://kubernetes.io", "want https", "an address that is not encrypted"},
		{"https://localhost/x", "no host on the internet", "this machine"},
		{"https://me@example.com/", "the name of a user", "credentials"},
		{"file:///etc/passwd", "want https", "a file of this machine"},
		{"https://exa mple.com/%zz", "invalid", "no address"},
	} {
		err := follow("docs/tree.md", tt.target, known)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q: %s", tt.target, err, tt.want, tt.reason)
		}
	}
}

// TestPagesAreLinked: each page of docs can be reached from README.md.
func TestPagesAreLinked(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{"README.md": true}
	for next := []string{"README.md"}; len(next) > 0; next = next[1:] {
		for _, l := range links(all[next[0]]) {
			target, _, _ := strings.Cut(l.target, "#")
			file := path.Join(path.Dir(next[0]), target)
			if _, page := all[path.Join(file, "README.md")]; page {
				file = path.Join(file, "README.md")
			}
			if _, page := all[file]; page && !reached[file] {
				reached[file] = true
				next = append(next, file)
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			t.Errorf("%s: no link leads from README.md to it, also not through other pages", name)
		}
	}
}

// namedFile is how other files name one of docs.
var namedFile = regexp.MustCompile(`\bdocs/[A-Za-z0-9_/-]+\.(?:md|json|svg)\b(?:#[a-z0-9_-]+)?`)

// TestNamedPagesExist: help, hints, comments and settings name pages of docs, which must exist.
func TestNamedPagesExist(t *testing.T) {
	known := map[string]map[string]bool{}
	for name, text := range pages(t) {
		known[name] = anchors(text)
	}
	read := []string{".go", ".sh", ".yaml", ".yml", ".txtar", ""}
	skipped := []string{".git", "bin", "dist", "docs", "node_modules"}
	count := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()) && file != ".":
			return fs.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains(read, filepath.Ext(entry.Name())):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, name := range namedFile.FindAllString(string(text), -1) {
			count++
			if err := follow("README.md", name, known); err != nil {
				t.Errorf("%s names %s: %v", file, name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 20 {
		t.Errorf("found %d names of pages, which cannot be all", count)
	}
}
