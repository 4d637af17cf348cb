package upstreamsource

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"
	"testing"
)

// manager is kube-controller-manager's path.
const manager = "k8s.io/kubernetes/cmd/kube-controller-manager/"

// Descriptor is what kube-controller-manager says of a controller, in app/controller_descriptor.go and beside it.
type Descriptor struct {
	Aliases      []string // other names that --controllers takes, nil if there are none
	OffByDefault bool     // "*" does not turn it on
	FeatureGates []string // that it runs with only
}

// Descriptors are those of kube-controller-manager, by the controllers' names. The test ends if they are written in a
// way that is not known here.
func Descriptors(t testing.TB) map[string]Descriptor {
	t.Helper()
	names := Names(t)
	out := map[string]Descriptor{}
	for _, file := range Files(t, manager+"app") {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "ControllerDescriptor" {
				name, d := descriptor(t, lit, names)
				out[name] = d
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatal("upstream has no descriptors: they are written otherwise")
	}
	return out
}

func descriptor(t testing.TB, lit *ast.CompositeLit, names map[string]string) (string, Descriptor) {
	t.Helper()
	var name, written string
	var d Descriptor
	for _, e := range lit.Elts {
		field := e.(*ast.KeyValueExpr)
		switch field.Key.(*ast.Ident).Name {
		case "name":
			written = types.ExprString(field.Value)
			if constant, ok := strings.CutPrefix(written, "names."); ok {
				name = names[constant]
			}
		case "aliases":
			for _, a := range field.Value.(*ast.CompositeLit).Elts {
				d.Aliases = append(d.Aliases, text(t, a))
			}
		case "requiredFeatureGates":
			for _, gate := range field.Value.(*ast.CompositeLit).Elts {
				d.FeatureGates = append(d.FeatureGates, gate.(*ast.SelectorExpr).Sel.Name)
			}
		case "isDisabledByDefault":
			d.OffByDefault = true
		}
	}
	if name == "" {
		t.Fatalf("upstream has a descriptor with the name %q, which is no constant of %snames", written, manager)
	}
	return name, d
}

// Names are the names of controllers that upstream has constants for, by the constants' names.
func Names(t testing.TB) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, file := range Files(t, manager+"names") {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				names[spec.Names[0].Name] = text(t, spec.Values[0])
			}
			return true
		})
	}
	return names
}

// text is the value of a string literal.
func text(t testing.TB, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("upstream has %T where a text was", e)
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
