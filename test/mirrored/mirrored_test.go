// Package mirrored tests that what this project imitates of Kubernetes is what Kubernetes does in the version that
// go.mod requires. A comment names what it imitates as
//
//	mirrors FUNCTION of PATH
//
// with the path of a file as an import would have it, k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go, and a method as
// Type.method; a type, constant or variable may be named in place of a function. Several of one file are separated by
// commas and "and", and so are several files.
//
// mirrored.txt has, for each of them, a hash of its code and the version in which it was last compared with ours. A
// test fails when upstream has changed it. -update writes the file: see docs/upgrading.md.
package mirrored

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/upstreamsource"
)

var update = flag.Bool("update", false, "write mirrored.txt: everything that is mirrored has been compared")

// root is that of the project, noted the file with the hashes.
const (
	root  = "../.."
	noted = "mirrored.txt"
)

// declared is a function, type, constant or variable of upstream.
type declared struct{ path, name string }

func (d declared) String() string { return d.name + " of " + d.path }

// state is the code of something declared, as a hash, and the version of the module that it was read from.
type state struct{ hash, version string }

// TestMirrored fails when upstream has changed something that a comment names, when it is not there, and when
// mirrored.txt and the comments do not have the same.
func TestMirrored(t *testing.T) {
	named := comments(t)
	there := map[declared]state{}
	sources := &sources{t: t, modules: map[string]state{}, folders: map[string]string{}}
	for d, at := range named {
		s, ok := sources.state(d)
		if !ok {
			t.Errorf("%s: %s has no %s in %s", strings.Join(at, ", "), d.path, d.name, s.version)
			continue
		}
		there[d] = s
	}
	known := read(t)
	if *update {
		if !t.Failed() {
			write(t, known, there)
		}
		return
	}
	for _, problem := range compare(known, there, named, sources.difference) {
		t.Error(problem)
	}
}

// compare returns what is wrong with the hashes that were noted, for code that is there, which comments name. What
// difference returns follows the sentence about something that has changed since a version.
func compare(
	known, there map[declared]state, named map[declared][]string, difference func(d declared, since string) string,
) []string {
	var out []string
	for d, s := range there {
		before, ok := known[d]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: %s is not in %s: run this test with -update",
				strings.Join(named[d], ", "), d, noted))
		case before.hash != s.hash:
			out = append(out, fmt.Sprintf("%s: upstream has changed %s since %s, in %s: compare them, then run "+
				"this test with -update\n%s", strings.Join(named[d], ", "), d, before.version, s.version,
				difference(d, before.version)))
		}
	}
	for d := range known {
		if named[d] == nil {
			out = append(out, fmt.Sprintf("%s has %s, which no comment names: run this test with -update", noted, d))
		}
	}
	slices.Sort(out)
	return out
}

// comments returns what the comments of all Go files but tests name, each with the places of the comments. It is an
// error if one does not name what it mirrors.
func comments(t *testing.T) map[declared][]string {
	t.Helper()
	out := map[declared][]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && path != root):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			at := fmt.Sprintf("%s:%d", filepath.ToSlash(below), files.Position(c.Pos()).Line)
			names, err := mirrored(c.Text())
			if err != nil {
				t.Errorf("%s: %v", at, err)
			}
			for _, d := range names {
				out[d] = append(out[d], at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no comment names anything of upstream")
	}
	return out
}

const (
	name = `[A-Za-z]\w*(?:\.[A-Za-z]\w*)?`
	list = name + `(?:, ` + name + `)*(?: and ` + name + `)?`
	one  = `(` + list + `) of (k8s\.io/[a-z-]+/[\w./-]+\.go)\b`
)

var (
	verb  = regexp.MustCompile(`\bmirrors? `)
	first = regexp.MustCompile(`^` + one)
	next  = regexp.MustCompile(`^,? (?:and )?` + one)
	comma = regexp.MustCompile(`, | and `)
)

// mirrored returns what a comment says that it mirrors.
func mirrored(comment string) ([]declared, error) {
	var out []declared
	rest := strings.Join(strings.Fields(comment), " ")
	for {
		at := verb.FindStringIndex(rest)
		if at == nil {
			return out, nil
		}
		rest = rest[at[1]:]
		found := first.FindStringSubmatch(rest)
		if found == nil {
			return out, fmt.Errorf("after %q is no FUNCTION of k8s.io/PATH.go, but %.60q", "mirrors", rest)
		}
		for ; found != nil; found = next.FindStringSubmatch(rest) {
			for _, n := range comma.Split(found[1], -1) {
				out = append(out, declared{found[2], n})
			}
			rest = rest[len(found[0]):]
		}
	}
}

// sources reads upstream's source. Its maps have what was looked up before.
type sources struct {
	t       *testing.T
	modules map[string]state  // only the version is set
	folders map[string]string // by module, and by MODULE@VERSION for an earlier one; empty if that is not there
}

// state returns the state of something declared; false if it is not there.
func (s *sources) state(d declared) (state, bool) {
	s.t.Helper()
	module, below := upstreamsource.ModulePath(d.path)
	if s.folders[module] == "" {
		version, folder := upstreamsource.Module(s.t, module)
		s.modules[module], s.folders[module] = state{version: version}, folder
	}
	out := s.modules[module]
	code := s.code(filepath.Join(s.folders[module], filepath.FromSlash(below)), d.name)
	if code == nil {
		return out, false
	}
	out.hash = hash(code)
	return out, true
}

// difference returns the lines that upstream has changed in something declared since a version, or how to see them.
func (s *sources) difference(d declared, since string) string {
	s.t.Helper()
	module, below := upstreamsource.ModulePath(d.path)
	earlier := module + "@" + since
	if _, ok := s.folders[earlier]; !ok {
		s.folders[earlier] = upstreamsource.ModuleAt(s.t, module, since)
	}
	if s.folders[earlier] == "" {
		return "go mod download " + earlier + " is needed to see the difference"
	}
	var code [2]string
	for i, folder := range []string{s.folders[earlier], s.folders[module]} {
		code[i] = string(s.code(filepath.Join(folder, filepath.FromSlash(below)), d.name)) + "\n"
	}
	return udiff.Unified(since, s.modules[module].version, code[0], code[1])
}

// code returns the code of a name that is declared in a file, nil if it is not there.
func (s *sources) code(path, name string) []byte {
	s.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // the file is gone, and so is what was in it
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		s.t.Fatal(err)
	}
	node := find(file, name)
	if node == nil {
		return nil
	}
	return text[files.Position(node.Pos()).Offset:files.Position(node.End()).Offset]
}

// find returns the declaration of a name, nil if there is none.
func find(file *ast.File, name string) ast.Node {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if functionName(d) == name {
				return d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == name {
						return spec
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(spec.Names, func(id *ast.Ident) bool { return id.Name == name }) {
						return spec
					}
				}
			}
		}
	}
	return nil
}

// functionName returns the name of a function, Type.method for a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name + "." + f.Name.Name
		default:
			return ""
		}
	}
}

// hash returns a hash of the tokens of code. Comments, white space and where lines are broken make no difference.
func hash(code []byte) string {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(code)), code, nil, 0)
	h := sha256.New()
	var pending string // a comma or semicolon, which is left out before a closing bracket
	for {
		_, t, text := s.Scan()
		switch t {
		case token.EOF:
			return fmt.Sprintf("%x", h.Sum(nil)[:8])
		case token.COMMA, token.SEMICOLON:
			pending = t.String()
			continue
		case token.RPAREN, token.RBRACK, token.RBRACE:
			pending = ""
		}
		fmt.Fprintln(h, pending, t, text)
		pending = ""
	}
}

// read returns what was noted.
func read(t *testing.T) map[declared]state {
	t.Helper()
	out := map[declared]state{}
	file, err := os.Open(noted)
	if os.IsNotExist(err) && *update {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 4 {
			t.Fatalf("%s: %q is not PATH NAME HASH VERSION", noted, lines.Text())
		}
		out[declared{f[0], f[1]}] = state{f[2], f[3]}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// write notes what is there. What has not changed keeps its version.
func write(t *testing.T, known, there map[declared]state) {
	t.Helper()
	var text strings.Builder
	for _, d := range slices.SortedFunc(maps.Keys(there), func(a, b declared) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.name, b.name))
	}) {
		s := there[d]
		if before := known[d]; before.hash == s.hash {
			s = before
		}
		fmt.Fprintln(&text, d.path, d.name, s.hash, s.version)
	}
	if err := os.WriteFile(noted, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestComments(t *testing.T) {
	const a, b = "k8s.io/kubernetes/pkg/a.go", "k8s.io/api-server/b/b_c.go"
	for _, c := range []struct {
		comment, reason string
		want            []declared
		fails           bool
	}{
		{"f mirrors F of\n" + a + ".", "one, on two lines, at the end of a sentence", []declared{{a, "F"}}, false},
		{"They mirror F and T.m of " + a + ": so", "two, one a method", []declared{{a, "F"}, {a, "T.m"}}, false},
		{"It mirrors F, G and H of " + a + ", and I of " + b + " and J of " + a + ", and more",
			"several files", []declared{{a, "F"}, {a, "G"}, {a, "H"}, {b, "I"}, {a, "J"}}, false},
		{"x mirrors F of " + a + ". y mirrors G of " + b, "twice", []declared{{a, "F"}, {b, "G"}}, false},
		{"what is mirrored, by --mirroring", "other words", nil, false},
		{"It mirrors the kubelet.", "no name", nil, true},
		{"It mirrors F in " + a, "another form", nil, true},
		{"It mirrors F of pkg/a.go", "no module", nil, true},
		{"It mirrors F of k8s.io/kubernetes/pkg/a", "no file", nil, true},
		{"x mirrors F of " + a + " and mirrors me", "only one of two", []declared{{a, "F"}}, true},
	} {
		got, err := mirrored(c.comment)
		if !slices.Equal(got, c.want) || (err != nil) != c.fails {
			t.Errorf("%s: %q names %v, error %v", c.reason, c.comment, got, err)
		}
	}
}

func TestHash(t *testing.T) {
	const code = "func f(a, b int) {\n\tg(a, b)\n\treturn\n}"
	for _, c := range []struct {
		code, reason string
		same         bool
	}{
		{"// f is f.\nfunc f(a, b int) {\n\t// first\n\n\tg(a, b) // g\n\treturn\n}", "comments", true},
		{"func f(\n\ta, b int,\n) {\n\tg(\n\t\ta,\n\t\tb,\n\t)\n\treturn\n}", "lines", true},
		{"func f(a, b int) { g(a, b); return }", "one line", true},
		{"func f(a, b int) {\n\tg(b, a)\n\treturn\n}", "another order", false},
		{"func f(a, b int64) {\n\tg(a, b)\n\treturn\n}", "another type", false},
		{"func f(a, b int) {\n\tg(a, b)\n}", "a statement less", false},
	} {
		if got := hash([]byte(c.code)) == hash([]byte(code)); got != c.same {
			t.Errorf("%s: the same hash: %t", c.reason, got)
		}
	}
}

func TestCompare(t *testing.T) {
	f, other := declared{"k8s.io/a/a.go", "F"}, declared{"k8s.io/a/a.go", "G"}
	named := map[declared][]string{f: {"x.go:1", "y.go:2"}}
	there := map[declared]state{f: {"1", "v2"}}
	for _, c := range []struct {
		reason string
		known  map[declared]state
		want   []string
	}{
		{"unchanged, in a later version", map[declared]state{f: {"1", "v1"}}, nil},
		{"changed", map[declared]state{f: {"0", "v1"}}, []string{"x.go:1, y.go:2: upstream has changed " +
			"F of k8s.io/a/a.go since v1, in v2: compare them, then run this test with -update\nF since v1"}},
		{"not noted", nil, []string{
			"x.go:1, y.go:2: F of k8s.io/a/a.go is not in mirrored.txt: run this test with -update"}},
		{"not named", map[declared]state{f: {"1", "v1"}, other: {"1", "v1"}}, []string{
			"mirrored.txt has G of k8s.io/a/a.go, which no comment names: run this test with -update"}},
	} {
		difference := func(d declared, since string) string { return d.name + " since " + since }
		if got := compare(c.known, there, named, difference); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.reason, got)
		}
	}
}
