package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unmasked are the files that see differences of objects with values that must not be shown, such as those of Secrets,
// and why none of these values is shown.
var unmasked = map[string]string{
	"cmd/kubectl-reconcile/internal/diff/unified.go": "fields.MaskObjects has hidden them in the objects of a plan",
	"pkg/inspect/v1alpha1/schematest/generate.go":    "they are schemas",
	"pkg/ownertree/drift/applied.go":                 "they are compared with quantities, and masked in a SetField",
	"pkg/runlocal/compare/hiding.go":                 "they are compared with placeholders, and masked in what differs",
}

// TestDifferencesAreMasked: outside of package fields, differences of objects are only made with a fields.Mask: no Change is
// made of values by hand, and who compares real values, or makes a difference of texts, is in the table.
func TestDifferencesAreMasked(t *testing.T) {
	found := map[string]bool{}
	for _, p := range list(t) {
		ours := strings.TrimPrefix(p.ImportPath, module)
		if ours == "pkg/inspect/fields" {
			continue
		}
		for _, name := range p.GoFiles {
			at := ours + "/" + name
			for _, use := range unmaskedUses(t, filepath.Join(p.Dir, name)) {
				if found[at] = true; unmasked[at] == "" {
					t.Errorf("%s/%s", ours, use)
				}
			}
		}
	}
	for at := range unmasked {
		if !found[at] {
			t.Errorf("%s sees no values that must not be shown: delete the row of unmasked", at)
		}
	}
}

// unmaskedUses returns where a file makes or sees differences that are not masked, each as "FILE:LINE: …".
func unmaskedUses(t *testing.T, file string) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(n ast.Node, text string) {
		position := files.Position(n.Pos())
		out = append(out, fmt.Sprintf("%s:%d: %s", filepath.Base(position.Filename), position.Line, text))
	}
	fields := ""
	for _, i := range parsed.Imports {
		switch path, err := strconv.Unquote(i.Path.Value); {
		case err != nil:
			t.Fatal(err)
		case path == "github.com/aymanbagabas/go-udiff", path == "github.com/google/go-cmp/cmp":
			add(i, "it makes differences of what may have values of Secrets; fields.Changes masks them")
		case path == module+"pkg/inspect/fields" && i.Name != nil:
			fields = i.Name.Name
		case path == module+"pkg/inspect/fields":
			fields = "fields"
		}
	}
	isOfFields := func(e ast.Expr, name string) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != name {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && fields != "" && x.Name == fields
	}
	const byHand = "fields.Change is made by hand, with values that no fields.Mask has seen; Mask.Change makes one"
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isOfFields(n, "CompareValues") {
				add(n, "fields.CompareValues has values of Secrets; fields.Changes masks them")
			}
		case *ast.CompositeLit:
			elements, _ := n.Type.(*ast.ArrayType)
			for _, e := range n.Elts {
				one, isLiteral := e.(*ast.CompositeLit)
				if elements != nil && isOfFields(elements.Elt, "Change") && isLiteral && one.Type == nil {
					add(e, byHand)
				}
			}
			if isOfFields(n.Type, "Change") && len(n.Elts) > 0 {
				add(n, byHand)
			}
		}
		return true
	})
	return out
}
