package schematest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// apiVersion is that of all documents.
const apiVersion = "kubectl-reconcile.github.io/v1alpha1"

// DurationPattern matches what time.Duration.String returns.
const DurationPattern = "^-?([0-9.]+(h|m|s|ms|µs|ns))+$"

// Generator makes JSON schemas of Go types, with the comments in their source as descriptions.
type Generator struct {
	// Types are the schemas of types, by names such as v1.Time, that are written otherwise than their Go type, or whose
	// values are fewer.
	Types map[string]Schema
	// Fields are those of fields whose values are fewer than their type allows, by names such as Plan.End.
	Fields map[string]Schema
	// As are types that are written as others are, by names as in Types: each is a value of the other type.
	As map[string]any
	// Sources are the folders with the source of packages, each named as its package.
	Sources []string

	used     map[string]bool
	comments map[string]comments // by names of packages
	defs     map[string]Schema   // of the document
}

// Schema is a JSON Schema. Maps are written with sorted keys, and so the text is stable.
type Schema map[string]any

// Enum is the schema of a value that is one of several.
func Enum[T any](values ...T) Schema { return Schema{"enum": values} }

// Compare compares the schema of some documents, each a value of a struct type, with what a file has. With update it
// writes the file.
func (g *Generator) Compare(t testing.TB, path, title string, update bool, documents ...any) {
	t.Helper()
	want := g.document(t, title, documents)
	if update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path) //nolint:gosec // G304: the caller's schema
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the types say: run `make schemas` (-want +got):\n%s", path, diff)
	}
}

// Unused returns the sorted names in Types, As and Fields that no document had since the Generator was made: they
// restrict nothing.
func (g *Generator) Unused() []string {
	var out []string
	for _, name := range slices.Concat(slices.Collect(maps.Keys(g.Types)), slices.Collect(maps.Keys(g.Fields)),
		slices.Collect(maps.Keys(g.As))) {
		if !g.used[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (g *Generator) document(t testing.TB, title string, documents []any) []byte {
	t.Helper()
	if g.comments == nil {
		g.comments, g.used = map[string]comments{}, map[string]bool{}
		for _, dir := range g.Sources {
			g.readComments(t, dir)
		}
	}
	g.defs = map[string]Schema{}
	var oneOf []Schema
	for _, d := range documents {
		oneOf = append(oneOf, g.of(t, reflect.TypeOf(d)))
	}
	text, err := json.MarshalIndent(Schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "oneOf": oneOf, "$defs": g.defs,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// of returns the schema of a type.
func (g *Generator) of(t testing.TB, typ reflect.Type) Schema {
	t.Helper()
	name := typ.String()
	if known, ok := g.Types[name]; ok {
		g.used[name] = true
		return maps.Clone(known)
	}
	if other, ok := g.As[name]; ok {
		g.used[name] = true
		return g.of(t, reflect.TypeOf(other))
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.of(t, typ.Elem())
	case reflect.Slice:
		return Schema{"type": "array", "items": g.of(t, typ.Elem())}
	case reflect.Struct:
		name := defName(typ.Name())
		if g.defs[name] == nil {
			g.defs[name] = Schema{} // a type may refer to itself
			g.defs[name] = g.object(t, typ)
		}
		return Schema{"$ref": "#/$defs/" + name}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return Schema{"type": "integer"}
	case reflect.Interface:
		return Schema{} // any value
	}
	t.Fatalf("%s has no schema", typ)
	return nil
}

func (g *Generator) object(t testing.TB, typ reflect.Type) Schema {
	t.Helper()
	properties := Schema{}
	out := Schema{"type": "object", "additionalProperties": false, "properties": properties}
	if text := g.comment(typ, ""); text != "" {
		out["description"] = text
	}
	if required := g.addFields(t, typ, properties); len(required) > 0 {
		out["required"] = required
	}
	return out
}

// addFields adds the fields of a struct to properties, those of embedded structs as its own, and returns the required
// ones.
func (g *Generator) addFields(t testing.TB, typ reflect.Type, properties Schema) []string {
	t.Helper()
	var required []string
	for f := range typ.Fields() {
		if f.Anonymous {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			required = append(required, g.addFields(t, embedded, properties)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			t.Errorf("%s.%s has no name in JSON", typ, f.Name)
		}
		properties[name] = g.property(t, typ, f, properties["kind"] == nil)
		if options != "omitempty" && options != "omitzero" {
			required = append(required, name)
		}
	}
	return required
}

// property returns the schema of a field. An APIVersion before the Kind of a document is this one.
func (g *Generator) property(t testing.TB, typ reflect.Type, f reflect.StructField, beforeKind bool) Schema {
	t.Helper()
	key := typ.Name() + "." + f.Name
	known, ok := g.Fields[key]
	var property Schema
	switch {
	case ok:
		g.used[key] = true
		property = maps.Clone(known)
	case f.Name == "APIVersion" && beforeKind && g.Fields[typ.Name()+".Kind"] != nil:
		property = Schema{"const": apiVersion}
	default:
		property = g.of(t, f.Type)
	}
	if text := g.comment(typ, f.Name); text != "" {
		property["description"] = text
	}
	return property
}

// comment returns what the source says of a type, or of a field of it.
func (g *Generator) comment(typ reflect.Type, field string) string {
	key := typ.Name()
	if field != "" {
		key += "." + field
	}
	return g.comments[path.Base(typ.PkgPath())][key]
}

func defName(goName string) string {
	r := []rune(goName)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

// comments are those of the types and fields of a package, by "Type" and "Type.Field".
type comments map[string]string

// readComments adds those of the package in a folder to what is known of packages of its name.
func (g *Generator) readComments(t testing.TB, dir string) {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	out := g.comments[filepath.Base(dir)]
	if out == nil {
		out = comments{}
		g.comments[filepath.Base(dir)] = out
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.TYPE {
				for _, s := range group.Specs {
					out.add(group, s.(*ast.TypeSpec))
				}
			}
		}
	}
}

func (c comments) add(g *ast.GenDecl, s *ast.TypeSpec) {
	doc := s.Doc
	if doc == nil {
		doc = g.Doc
	}
	c[s.Name.Name] = oneLine(doc)
	if fields, ok := s.Type.(*ast.StructType); ok {
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				c[s.Name.Name+"."+name.Name] = oneLine(f.Doc)
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
