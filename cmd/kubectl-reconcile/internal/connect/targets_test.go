package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"-A", func(f *TargetFlags) { f.AllNamespaces = true }, []string{"pods"}, "", "whole kinds of all namespaces"},
		{"-A NAME", func(f *TargetFlags) { f.AllNamespaces = true }, []string{"pods", "x"}, "a resource cannot be retrieved by name across all namespaces", "the message of kubectl"},
		{"-l NAME", func(f *TargetFlags) { f.Labels = "a=b" }, []string{"pods/x"}, "name cannot be provided when a selector is specified", "the message of kubectl"},
		{"--field-selector NAME", func(f *TargetFlags) { f.Fields = "a=b" }, []string{"pods/x"}, "name cannot be provided when a selector is specified", "the same for fields"},
		{"-f TYPE", func(f *TargetFlags) { *f.Manifests.flags.Filenames = []string{"x.yaml"} }, []string{"pods"},
			"when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well", "the message of kubectl"},
		{"-f -l", func(f *TargetFlags) { *f.Manifests.flags.Filenames = []string{"x.yaml"}; f.Labels = "a=b" }, nil,
			"-l and --field-selector select among the objects of a cluster, not of -f or -k", "the files name the objects"},
		{"bad -l", func(f *TargetFlags) { f.Labels = "a in b" }, nil, `the label selector "a in b" is not valid: `, "before any request"},
		{"bad --field-selector", func(f *TargetFlags) { f.Fields = "nonsense" }, nil, `the field selector "nonsense" is not valid: `, "before any request"},
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
