package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// upstreamControllers are the names of kube-controller-manager's descriptors, sorted: the values of the field name of
// each, which are constants of its package names.
func upstreamControllers(t *testing.T) []string {
	t.Helper()
	const manager = "k8s.io/kubernetes/cmd/kube-controller-manager/"
	constants := map[string]string{}
	inspectPackage(t, manager+"names", func(n ast.Node) {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			constants[spec.Names[0].Name] = spec.Values[0].(*ast.BasicLit).Value
		}
	})
	var out []string
	inspectPackage(t, manager+"app", func(n ast.Node) {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return
		}
		if id, ok := lit.Type.(*ast.Ident); !ok || id.Name != "ControllerDescriptor" {
			return
		}
		for _, e := range lit.Elts {
			if field := e.(*ast.KeyValueExpr); field.Key.(*ast.Ident).Name == "name" {
				name, err := strconv.Unquote(constants[field.Value.(*ast.SelectorExpr).Sel.Name])
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, name)
			}
		}
	})
	slices.Sort(out)
	return out
}

func inspectPackage(t *testing.T, path string, visit func(ast.Node)) {
	t.Helper()
	found, err := build.Import(path, ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(found.Dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
}

// listed is what `run --list -o FORMAT` prints.
func listed(t *testing.T, format string) string {
	t.Helper()
	var out bytes.Buffer
	f := &Flags{output: format}
	if err := f.printList(genericiooptions.IOStreams{Out: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestListIsUpstreams(t *testing.T) {
	want := upstreamControllers(t)
	if len(want) < 40 {
		t.Fatalf("upstream has only %q: its descriptors are written otherwise", want)
	}
	if diff := cmp.Diff(want, strings.Fields(listed(t, "name"))); diff != "" {
		t.Errorf("run --list and kube-controller-manager (-upstream +list):\n%s", diff)
	}
	var rows, names []string
	table, _, _ := strings.Cut(listed(t, ""), "\n\n")
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Fields(line)[0])
	}
	for _, i := range newControllerList().Items {
		name, _ := i.called()
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(append([]string{"NAME"}, names...), rows); diff != "" {
		t.Errorf("the table (-all +listed):\n%s", diff)
	}
}

// TestListedNames: --controller takes what the table calls a controller, and its other names.
func TestListedNames(t *testing.T) {
	for _, i := range newControllerList().Items {
		name, others := i.called()
		for _, n := range append(others, name) {
			found, err := controllers.Select([]string{n})
			notRun, refused := errors.AsType[*controllers.NotRunError](err)
			if i.Runs && (len(found) != 1 || found[0].Name != i.Name) || !i.Runs &&
				(!refused || notRun.Name != i.Name) {
				t.Errorf("%s, of %s, is %v, %v", n, i.Name, session.ShortNames(found), err)
			}
		}
	}
}

func TestListSaysWhy(t *testing.T) {
	for _, i := range newControllerList().Items {
		switch {
		case !i.Runs && i.Reason == "":
			t.Errorf("%s does not run, and no reason is given", i.Name)
		case !i.Runs && i.Default:
			t.Errorf("%s does not run, and is one of all", i.Name)
		case i.Runs && i.Reason != "" && len(i.Flags) == 0:
			t.Errorf("%s runs, and a reason is given: %s", i.Name, i.Reason)
		}
	}
}

func TestListRows(t *testing.T) {
	for _, tt := range []struct{ name, want, reason string }{
		{"deployment", "deployment yes deployment-controller", "one that just runs"},
		{"tokencleaner", "tokencleaner if named token-cleaner-controller", "one that '*' leaves out"},
		{
			"csrsigning", "csrsigning with keys certificatesigningrequest-signing-controller " +
				"on a cluster: --cluster-signing-cert-file, --cluster-signing-key-file", "one that signs",
		},
		{
			"garbagecollector", "garbagecollector yes garbage-collector-controller danger: deletes objects whose owner it does not see", "a dangerous one",
		},
		{
			"nodeipam", "nodeipam no node-ipam-controller it hands out network ranges that only the cluster's control plane is configured with",
			"one that does not run",
		},
		{
			"podgroup-protection-controller",
			"podgroup-protection-controller no it needs the feature gate GenericWorkload, which is off by default",
			"one that has no other name",
		},
	} {
		var got string
		for line := range strings.Lines(listed(t, "")) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == tt.name {
				got = strings.Join(fields, " ")
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.reason, got, tt.want)
		}
	}
}

// TestListLayout: columns stand below each other, on whatever it is shown.
func TestListLayout(t *testing.T) {
	items := []controllerItem{
		{Name: "b-controller", Short: "b", Runs: true, Default: true},
		{Name: "a-controller", Aliases: []string{"a"}, Reason: "it needs what no cluster has that I have ever seen"},
		{Name: "one-whose-name-is-as-long-as-can-be-controller", Short: "one-whose-name-is-as-long-as-can-be-really",
			Runs: true, Danger: "deletes it all"},
	}
	for width, want := range map[int]string{
		0: `NAME                                        RUNS      OTHER NAMES                                     WHY
a                                           no        a-controller                                    it needs what no cluster has that I have ever seen
b                                           yes       b-controller
one-whose-name-is-as-long-as-can-be-really  if named  one-whose-name-is-as-long-as-can-be-controller  danger: deletes it all
`,
		50: `NAME  RUNS      WHY
a     no        it needs what no cluster has that
                I have ever seen
b     yes
one-whose-name-is-as-long-as-can-be-really
      if named  danger: deletes it all
`,
	} {
		var out bytes.Buffer
		if err := printControllers(&out, items, width); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("on %d cells (-want +got):\n%s", width, diff)
		}
	}
}

// TestListFitsTerminals: nothing is cut, and nothing is too wide.
func TestListFitsTerminals(t *testing.T) {
	for width := 80; width < 260; width += 4 {
		var out bytes.Buffer
		if err := printControllers(&out, newControllerList().Items, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width || strings.Contains(line, "…") {
				t.Errorf("%d cells on a terminal of %d: %s", n, width, line)
			}
		}
	}
}

func TestListForPrograms(t *testing.T) {
	want := newControllerList()
	for format, decode := range map[string]func([]byte, *controllerList) error{
		"json": func(text []byte, into *controllerList) error { return json.Unmarshal(text, into) },
		"yaml": func(text []byte, into *controllerList) error { return yaml.UnmarshalStrict(text, into) },
	} {
		var got controllerList
		if err := decode([]byte(listed(t, format)), &got); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if first, second := listed(t, format), listed(t, format); first != second {
			t.Errorf("%s: two lists differ", format)
		}
	}
	if want.Kind != "ControllerList" || want.APIVersion != v1alpha1.APIVersion {
		t.Errorf("the list is a %s of %s", want.Kind, want.APIVersion)
	}
}
