package v1alpha1

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the schemas")

// schema is a JSON Schema. Maps are written with sorted keys, and so the text is stable.
type schema map[string]any

func enum[T any](values ...T) schema { return schema{"enum": values} }

// policies are the values of metav1.DeletionPropagation.
var policies = enum(metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)

// typeSchemas are the types whose values are fewer than Go's type allows.
var typeSchemas = map[string]schema{
	"v1.Time":                {"type": []string{"string", "null"}, "format": "date-time"},
	"v1.DeletionPropagation": policies,
	"v1.PersistentVolumeClaimRetentionPolicyType": enum("Retain", "Delete"),
	"v1.PersistentVolumeReclaimPolicy":            enum("Retain", "Delete", "Recycle"),
	"inspect.DriftState":                          enum(inspect.InSync, inspect.Behind, inspect.NotReported, inspect.Ahead, inspect.NeverSeen),
	"inspect.Polarity":                            enum(inspect.Positive, inspect.Negative, inspect.Neutral),
	"inspect.Certainty":                           enum(inspect.Certain, inspect.Likely, inspect.Possible),
	"inspect.Ownership":                           enum(inspect.OwnsField, inspect.OwnsPart, inspect.OwnsContaining),
	"time.Time":                                   {"type": "string", "format": "date-time"},
	"trace.Duration":                              {"type": "string", "pattern": "^-?([0-9.]+(h|m|s|ms|µs|ns))+$"},
	"timeline.Type":                               enum(timeline.Types()...),
	"timeline.ReadyCause": enum(timeline.ReadyCreated, timeline.ReadySpecChanged, timeline.ReadyLost,
		timeline.ReadyExisting),
	"replay.GapReason": enum(replay.GapWatchExpired, replay.GapUnreachable, replay.GapSleep),
	"replay.Imported": enum(replay.ImportedWatchEvents, replay.ImportedObjects, replay.ImportedManifests,
		replay.ImportedAudit),
	"inspect.EvidenceSource": enum(inspect.FromField, inspect.FromCondition, inspect.FromEvent, inspect.FromLease, inspect.FromWriter,
		inspect.FromObject, inspect.FromController),
}

// fieldSchemas are the fields whose values are fewer than their type allows.
var fieldSchemas = map[string]schema{
	"OwnerTree.Kind":       {"const": OwnerTreeKind},
	"DeletePreview.Kind":   {"const": DeletePreviewKind},
	"StatusList.Kind":      {"const": StatusListKind},
	"StatusEvent.Kind":     {"const": StatusEventKind},
	"Plan.Kind":            {"const": PlanKind},
	"Comparison.Kind":      {"const": ComparisonKind},
	"TimelineEntry.Kind":   {"const": TimelineEntryKind},
	"TimelineSummary.Kind": {"const": TimelineSummaryKind},
	"Change.Old":           {}, // any JSON value
	"Change.New":           {},
	"Plan.End":             enum("settled", "next", "steps", "loop", "limit"),
	"PlanWrite.Verb":       enum("create", "update", "delete"),
	"TriedWrite.Answer":    enum(TrialAccepted, TrialRefused, TrialNotPermitted, TrialNotSupported),
	"PlanObject.Verb":      enum("create", "update", "delete"),
	"PlanCause.Type":       enum("watch", "retry", "timer", "reconcile", "other"),
	"PlanCause.Event":      enum("ADDED", "MODIFIED", "DELETED", "RESYNC"),
	"Diagnosis.Kind":       {"const": DiagnosisKind},
	"FieldBlame.Kind":      {"const": FieldBlameKind},
	"FieldBlame.Value":     {}, // any JSON value
	"StatusEvent.Type":     enum("ADDED", "MODIFIED", "DELETED"),
	"Owner.Verdict": enum(ownertree.Solid, ownertree.OwnerMissing, ownertree.OtherUID, ownertree.OtherNamespace,
		ownertree.UnmappableKind, ownertree.Unknown),
	"GarbageCollection.Action": enum(ownertree.ReferencesStripped, ownertree.Deleted, ownertree.DeletedWithOwner, ownertree.BeingDeleted,
		ownertree.NeverCollected, ownertree.GCUnknown), // Kept is not written
	"Event.Type":           enum("Normal", "Warning"),
	"Event.Count":          {"type": "integer", "minimum": 1},
	"TreeObject.Truncated": {"type": "integer", "minimum": 1},
	"Status.Status": enum(inspect.Current, inspect.InProgress, inspect.Failed, inspect.Terminating, inspect.Unknown, inspect.Suspended,
		inspect.Degraded),
	"Status.Ready":    {"type": "string", "pattern": "^-?[0-9]+/-?[0-9]+$"},
	"Status.JudgedBy": enum(inspect.BuiltIn, inspect.ArgoCD, inspect.Generic),
	"Container.Type":  enum(inspect.MainContainer, inspect.InitContainer, inspect.SidecarContainer, inspect.EphemeralContainer),
	"Container.State": enum("running", "waiting", "terminated"),
}

// comments are those of the types and fields of a package, by "Type" and "Type.Field".
type comments map[string]string

func readComments(t *testing.T, dir string) comments {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	out := comments{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					out.add(g, s.(*ast.TypeSpec))
				}
			}
		}
	}
	return out
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

// generator makes the definitions of the types that it meets.
type generator struct {
	t        *testing.T
	comments map[string]comments // by name of the package
	defs     map[string]schema
}

// of returns the schema of a type.
func (g *generator) of(t reflect.Type) schema {
	if known, ok := typeSchemas[t.String()]; ok {
		return maps.Clone(known)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Slice:
		return schema{"type": "array", "items": g.of(t.Elem())}
	case reflect.Struct:
		name := defName(t.Name())
		if g.defs[name] == nil {
			g.defs[name] = schema{} // a type may refer to itself
			g.defs[name] = g.object(t)
		}
		return schema{"$ref": "#/$defs/" + name}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return schema{"type": "integer"}
	case reflect.Interface:
		return schema{} // any value
	}
	g.t.Fatalf("%s has no schema", t)
	return nil
}

func (g *generator) object(t reflect.Type) schema {
	properties := schema{}
	out := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if text := g.comment(t, ""); text != "" {
		out["description"] = text
	}
	if required := g.fields(t, properties); len(required) > 0 {
		out["required"] = required
	}
	return out
}

// fields adds the fields of a struct to properties, those of embedded structs as its own, and returns the required
// ones.
func (g *generator) fields(t reflect.Type, properties schema) []string {
	var required []string
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			required = append(required, g.fields(f.Type, properties)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			g.t.Errorf("%s.%s has no name in JSON", t, f.Name)
		}
		property, known := fieldSchemas[t.Name()+"."+f.Name]
		switch {
		case known:
			property = maps.Clone(property)
		case f.Name == "APIVersion" && properties["kind"] == nil && fieldSchemas[t.Name()+".Kind"] != nil:
			property = schema{"const": APIVersion}
		default:
			property = g.of(f.Type)
		}
		if text := g.comment(t, f.Name); text != "" {
			property["description"] = text
		}
		properties[name] = property
		if options != "omitempty" && options != "omitzero" {
			required = append(required, name)
		}
	}
	return required
}

// comment is what the source says of a type, or of a field of it.
func (g *generator) comment(t reflect.Type, field string) string {
	key := t.Name()
	if field != "" {
		key += "." + field
	}
	return g.comments[filepath.Base(t.PkgPath())][key]
}

func defName(goName string) string {
	r := []rune(goName)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

func (g *generator) document(title string, types ...any) []byte {
	var oneOf []schema
	for _, t := range types {
		oneOf = append(oneOf, g.of(reflect.TypeOf(t)))
	}
	text, err := json.MarshalIndent(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "oneOf": oneOf, "$defs": g.defs,
	}, "", "  ")
	if err != nil {
		g.t.Fatal(err)
	}
	return append(text, '\n')
}

// TestSchemas compares the schemas in docs with the types; with -update it writes them.
func TestSchemas(t *testing.T) {
	source := map[string]comments{
		"v1alpha1": readComments(t, "."), "inspect": readComments(t, ".."), "cluster": readComments(t, "../cluster"),
		"replay": readComments(t, "../../replay"), "timeline": readComments(t, "../../replay/timeline"),
	}
	for _, tt := range []struct {
		file, title string
		types       []any
	}{
		{"tree.schema.json", "What kubectl reconcile tree prints with -o json and -o yaml", []any{OwnerTree{}, DeletePreview{}}},
		{"status.schema.json", "What kubectl reconcile status prints with -o json and -o yaml; with --watch, each line", []any{StatusList{}, StatusEvent{}}},
		{"diff.schema.json", "What kubectl reconcile diff prints with -o json and -o yaml", []any{Plan{}, Comparison{}}},
		{"replay.schema.json", "What kubectl reconcile replay prints with -o json, each line, and with --summary -o json", []any{TimelineEntry{}, TimelineSummary{}}},
		{"why.schema.json", "What kubectl reconcile why prints with -o json and -o yaml; with --watch, each line", []any{Diagnosis{}, FieldBlame{}}},
	} {
		g := &generator{t: t, comments: source, defs: map[string]schema{}}
		want := g.document(tt.title, tt.types...)
		path := filepath.Join("../../../docs", tt.file)
		if *update {
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what the types say: run go generate ./pkg/inspect/v1alpha1 (-want +got):\n%s", tt.file, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestSchemaTables makes sure that each row of fieldSchemas is of a field that a document has: else it restricts
// nothing.
func TestSchemaTables(t *testing.T) {
	used := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		used[typ.String()] = true
		if typ.Kind() != reflect.Struct || seen[typ] || typeSchemas[typ.String()] != nil {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if f.Tag.Get("json") == "-" || !f.IsExported() {
				continue
			}
			used[typ.Name()+"."+f.Name] = true
			walk(f.Type)
		}
	}
	for _, document := range []any{
		OwnerTree{}, DeletePreview{}, StatusList{}, StatusEvent{}, Diagnosis{}, FieldBlame{}, Plan{}, Comparison{}, TimelineEntry{}, TimelineSummary{},
	} {
		walk(reflect.TypeOf(document))
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(typeSchemas)), slices.Collect(maps.Keys(fieldSchemas))) {
		if !used[name] {
			t.Errorf("no document has %s", name)
		}
	}
}

// TestAPIVersion: traces and summaries have the same version as the documents here.
func TestAPIVersion(t *testing.T) {
	if APIVersion != trace.APIVersion {
		t.Errorf("%s beside %s of traces", APIVersion, trace.APIVersion)
	}
}
