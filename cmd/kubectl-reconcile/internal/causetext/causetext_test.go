package causetext

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

func TestSentences(t *testing.T) {
	quota := &inspect.Reference{Kind: "ResourceQuota", Name: "few"}
	policy := &inspect.Reference{Kind: "ValidatingAdmissionPolicy", Name: "freeze"}
	for _, row := range []struct {
		reason          string
		cause           inspect.Cause
		sentence, short string
	}{
		{"an object and a detail", inspect.Cause{Type: inspect.QuotaExceeded, Refers: quota, Detail: "used: pods=1"},
			"ResourceQuota/few refuses what Pod/x creates: used: pods=1", "ResourceQuota/few refuses what it creates"},
		{"a part of the object", inspect.Cause{Type: inspect.ReadinessProbe, Part: "container web", Detail: "status 500"},
			"container web of Pod/x does not pass its readiness probe: status 500", "container web does not pass its readiness probe: status 500"},
		{"no part", inspect.Cause{Type: inspect.ImagePull}, "Pod/x cannot pull its image", "it cannot pull its image"},
		{"a webhook", inspect.Cause{Type: inspect.AdmissionDenied, Part: "webhook a.b", Refers: policy, Detail: "no"},
			"webhook a.b refuses what the controller of Pod/x writes: no", "webhook a.b refuses what its controller writes: no"},
		{"a policy", inspect.Cause{Type: inspect.AdmissionDenied, Refers: policy, Detail: "no"},
			"ValidatingAdmissionPolicy/freeze refuses what the controller of Pod/x writes: no",
			"ValidatingAdmissionPolicy/freeze refuses what its controller writes: no"},
		{"neither", inspect.Cause{Type: inspect.AdmissionDenied, Detail: "no"},
			"admission refuses what the controller of Pod/x writes: no", "admission refuses what its controller writes: no"},
		{"a webhook that does not answer", inspect.Cause{Type: inspect.WebhookUnreachable, Part: "webhook a.b", Detail: "EOF"},
			"webhook a.b does not answer, and so the controller of Pod/x cannot write: EOF",
			"webhook a.b does not answer, and so its controller cannot write"},
		{"a key", inspect.Cause{Type: inspect.MissingKey, Refers: &inspect.Reference{Kind: "Secret", Name: "tls", Key: "ca.crt"}},
			"key ca.crt of Secret/tls does not exist, which Pod/x needs", "key ca.crt of Secret/tls does not exist, which it needs"},
		{"a type that is not known here", inspect.Cause{Type: "Other", Detail: "odd"}, "Pod/x: odd", "it: odd"},
		{"text of the cluster is not expanded", inspect.Cause{Type: inspect.ConditionFailed, Detail: "%O %R"},
			"Pod/x reports: %O %R", "it reports: %O %R"},
	} {
		if got := Sentence(&row.cause, "Pod/x"); got != row.sentence {
			t.Errorf("%s: %q", row.reason, got)
		}
		if got := Short(&row.cause); got != row.short {
			t.Errorf("%s: in short %q", row.reason, got)
		}
	}
}

// TestEveryTypeHasASentence: each type of cause that is declared can be said, and nothing else.
func TestEveryTypeHasASentence(t *testing.T) {
	declared := map[inspect.CauseType]bool{}
	for _, directory := range []string{"../../../../pkg/inspect", "../../../../pkg/ownertree/diagnosis"} {
		declaredIn(t, directory, declared)
	}
	if len(declared) < 60 {
		t.Fatalf("only %d types are declared", len(declared))
	}
	for kind := range declared {
		if sentences[kind] == "" {
			t.Errorf("%s has no sentence", kind)
		}
	}
	for kind, text := range sentences {
		if !declared[kind] {
			t.Errorf("%s is not declared", kind)
		}
		if strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
			t.Errorf("%s: %q", kind, text)
		}
	}
}

// declaredIn adds the types of causes that a package declares as constants.
func declaredIn(t *testing.T, directory string, declared map[inspect.CauseType]bool) {
	t.Helper()
	files, err := filepath.Glob(directory + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 || !isCauseType(spec.Type) {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			declared[inspect.CauseType(value)] = true
			return true
		})
	}
}

func isCauseType(e ast.Expr) bool {
	if selector, ok := e.(*ast.SelectorExpr); ok {
		e = selector.Sel
	}
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "CauseType"
}
