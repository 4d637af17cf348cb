package connect

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func TestParseTargets(t *testing.T) {
	object := func(typeName, name string) objectArg { return objectArg{typeName, name} }
	for _, tt := range []struct {
		args   []string
		want   TargetArgs
		err    string
		reason string
	}{
		{nil, TargetArgs{}, "", "nothing named is everything"},
		{[]string{"deploy"}, TargetArgs{Types: []string{"deploy"}}, "", "a whole kind"},
		{[]string{"deploy,pods,deploy"}, TargetArgs{Types: []string{"deploy", "pods"}}, "", "several, each once"},
		{[]string{"deploy", "web"}, TargetArgs{objects: []objectArg{object("deploy", "web")}}, "", "TYPE NAME"},
		{[]string{"deploy", "web", "api", "web"}, TargetArgs{objects: []objectArg{object("deploy", "web"), object("deploy", "api")}}, "", "TYPE NAME NAME, each once"},
		{[]string{"deploy,svc", "web"}, TargetArgs{objects: []objectArg{object("deploy", "web"), object("svc", "web")}}, "", "one name in several kinds"},
		{[]string{"deploy/web", "svc/web", "deploy/web"}, TargetArgs{objects: []objectArg{object("deploy", "web"), object("svc", "web")}}, "", "TYPE/NAME, each once"},
		{[]string{"deploy.v1.apps/web"}, TargetArgs{objects: []objectArg{object("deploy.v1.apps", "web")}}, "", "with version and group"},
		{[]string{"deploy/web", "web"}, TargetArgs{}, "TYPE/NAME cannot be mixed with other arguments", "a name without a type"},
		{[]string{"deploy", "svc/web"}, TargetArgs{}, "TYPE/NAME cannot be mixed with other arguments", "the other way round"},
		{[]string{"deploy/web/x"}, TargetArgs{}, `"deploy/web/x" has more than one slash: it must be TYPE/NAME`, "subresources are no objects"},
		{[]string{"deploy/"}, TargetArgs{}, `"deploy/" must be one TYPE/NAME`, "no name"},
		{[]string{"/web"}, TargetArgs{}, `"/web" must be one TYPE/NAME`, "no type"},
		{[]string{"deploy,svc/web"}, TargetArgs{}, `"deploy,svc/web" must be one TYPE/NAME`, "a list before a slash means two things"},
		{[]string{"deploy,"}, TargetArgs{}, `"deploy," has an empty type`, "a blank after the comma"},
		{[]string{""}, TargetArgs{}, `"" has an empty type`, "an empty variable of a shell"},
		{[]string{"deploy", ""}, TargetArgs{}, "a name is empty", "an empty variable as a name would list all"},
	} {
		got, err := parseTargets(tt.args)
		if text := errorText(err); text != tt.err {
			t.Errorf("%q: error %q, want %q: %s", tt.args, text, tt.err, tt.reason)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(TargetArgs{}, objectArg{})); diff != "" {
			t.Errorf("%q: %s (-want +got):\n%s", tt.args, tt.reason, diff)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTargetConflicts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    func(*TargetFlags)
		args   []string
		err    string
		reason string
	}{
		{"plain", func(*TargetFlags) {}, []string{"pods"}, "", "nothing to refuse"},
		{"-A", func(f *TargetFlags) { f.All = true }, []string{"pods"}, "", "whole kinds of all namespaces"},
		{"-A NAME", func(f *TargetFlags) { f.All = true }, []string{"pods", "x"}, "a resource cannot be retrieved by name across all namespaces", "as kubectl says it"},
		{"-l NAME", func(f *TargetFlags) { f.Labels = "a=b" }, []string{"pods/x"}, "name cannot be provided when a selector is specified", "as kubectl says it"},
		{"--field-selector NAME", func(f *TargetFlags) { f.Fields = "a=b" }, []string{"pods/x"}, "name cannot be provided when a selector is specified", "the same for fields"},
		{"-f TYPE", func(f *TargetFlags) { *f.Manifests.flags.Filenames = []string{"x.yaml"} }, []string{"pods"},
			"when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well", "as kubectl says it"},
		{"-f -l", func(f *TargetFlags) { *f.Manifests.flags.Filenames = []string{"x.yaml"}; f.Labels = "a=b" }, nil,
			"-l and --field-selector select among the objects of a cluster, not of -f or -k", "the files say which"},
		{"bad -l", func(f *TargetFlags) { f.Labels = "a in b" }, nil, `the label selector "a in b" is not valid: `, "before anything is asked"},
		{"bad --field-selector", func(f *TargetFlags) { f.Fields = "nonsense" }, nil, `the field selector "nonsense" is not valid: `, "before anything is asked"},
	} {
		f := NewTargetFlags()
		tt.set(f)
		_, err := f.Parse(tt.args)
		text := errorText(err)
		if tt.err == "" && err != nil || len(text) < len(tt.err) || text[:len(tt.err)] != tt.err {
			t.Errorf("%s: error %q, want %q: %s", tt.name, text, tt.err, tt.reason)
		}
	}
}

func TestDescribeIncomplete(t *testing.T) {
	forbidden := func(group, resource string) cluster.Incomplete {
		return cluster.Incomplete{Group: group, Version: "v1", Resource: resource, Reason: cluster.ReasonForbidden, Message: resource + " is forbidden"}
	}
	many := make([]cluster.Incomplete, 10)
	for i := range many {
		many[i] = forbidden("", string(rune('a'+i)))
	}
	for _, tt := range []struct {
		name   string
		in     []cluster.Incomplete
		want   []string
		reason string
	}{
		{"none", nil, nil, "nothing to say"},
		{"forbidden", []cluster.Incomplete{forbidden("", "secrets"), forbidden("rbac.authorization.k8s.io", "roles")},
			[]string{"incomplete: no permission to list secrets, roles.rbac.authorization.k8s.io"}, "one line for what is forbidden; the server's sentences say no more"},
		{"twice", []cluster.Incomplete{forbidden("", "secrets"), forbidden("", "secrets")}, []string{"incomplete: no permission to list secrets"}, "in two namespaces"},
		{"many", many, []string{"incomplete: no permission to list a, b, c, d, e, f, g, h and 2 more"}, "a line is not a page"},
		{"a group", []cluster.Incomplete{{Group: "metrics.k8s.io", Version: "v1beta1", Reason: cluster.ReasonDiscovery, Message: "stale"}},
			[]string{"incomplete: the kinds are not known of metrics.k8s.io/v1beta1: stale"}, "an aggregated API that is down"},
		{"causes", []cluster.Incomplete{{Version: "v1", Resource: "pods", Reason: cluster.ReasonTimeout, Message: "slow"}, {Version: "v1", Resource: "nodes", Reason: "Teapot", Message: "short"}, forbidden("", "secrets")},
			[]string{"incomplete: could not list nodes: short", "incomplete: no answer for pods: slow", "incomplete: no permission to list secrets"}, "sorted"},
	} {
		if diff := cmp.Diff(tt.want, DescribeIncomplete(tt.in)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
}

func TestForbiddenError(t *testing.T) {
	kind := cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true}
	for _, tt := range []struct {
		target Target
		all    bool
		c      Connection
		want   string
		hint   string
	}{
		{NewTarget(kind, "shop", ""), false, Connection{Namespace: "shop"},
			`no permission to list pods in namespace "shop"`, "`kubectl auth can-i --list` shows what is permitted"},
		{NewTarget(kind, "", ""), true, Connection{},
			`no permission to list pods in all namespaces`, "`kubectl auth can-i --list` shows what is permitted; a single namespace, by -n, may be"},
		{NewTarget(kind, "shop", "x"), false, Connection{Namespace: "shop", enforced: true},
			`no permission to get pods in namespace "shop"`, "`kubectl auth can-i --list -n shop` shows what is permitted"},
	} {
		tt.c.Config = &rest.Config{}
		err := tt.c.ForbiddenError([]Target{tt.target}, tt.all)
		if got := err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if hint := (*cli.HintError)(nil); !errors.As(err, &hint) || hint.Hint != tt.hint {
			t.Errorf("the hint of %v is not %q", err, tt.hint)
		}
	}
}

func TestIncompleteNews(t *testing.T) {
	a, b := []string{"incomplete: a"}, []string{"incomplete: b"}
	for _, tt := range []struct {
		before, now, want []string
		reason            string
	}{
		{a, a, nil, "nothing new"},
		{nil, a, a, "something fails"},
		{a, b, b, "something else fails"},
		{a, nil, []string{"complete: all can be read again"}, "nothing fails any more"},
	} {
		if diff := cmp.Diff(tt.want, IncompleteNews(tt.before, tt.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestPermittedAsTheSameUser(t *testing.T) {
	c := Connection{Config: &rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "jane", Groups: []string{"dev", "two words"}}}}
	want := "`kubectl auth can-i --list --as jane --as-group dev --as-group 'two words'` shows what is permitted"
	if got := c.Permitted(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
