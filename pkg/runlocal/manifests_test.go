package runlocal

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// namedReader has a name, as a file has.
type namedReader struct {
	io.Reader
	name string
}

func (n namedReader) Name() string { return n.name }

func TestParseManifests(t *testing.T) {
	const good = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n"
	for _, tt := range []struct {
		reason string
		in     string
		want   []string
		errors []string
	}{
		{"each document is an object", good + "---\n" + good, []string{"m.yaml: configmap/a", "m.yaml: configmap/a"}, nil},
		{"JSON is YAML", `{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"}}`, []string{"m.yaml: service/s"}, nil},
		{"a List is its items", "kind: List\napiVersion: v1\nitems:\n- {kind: Pod, apiVersion: v1, metadata: {name: p}}\n",
			[]string{"m.yaml: pod/p"}, nil},
		{"a comment is nothing", "# nothing\n---\n", nil, nil},
		{"an error does not hinder the others", good + "---\nmetadata: {name: d}\n", []string{"m.yaml: configmap/a"}, []string{
			"m.yaml: line 5: a manifest with apiVersion, kind and metadata is expected: kind is missing"}},
		{"what is no manifest may be a secret", "# of a chart\ndb: {password: hunter2}\n", nil, []string{
			"m.yaml: line 2: a manifest with apiVersion, kind and metadata is expected: kind is missing"}},
		{"no object at all", "- hunter2\n", nil, []string{
			"m.yaml: a manifest with apiVersion, kind and metadata is expected: it is no object"}},
		{"no YAML", "a: b: c\n", nil, []string{
			"error parsing m.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context"}},
	} {
		read, err := ParseManifests(namedReader{strings.NewReader(tt.in), "m.yaml"})
		var got, errs []string
		for _, m := range read {
			got = append(got, m.String())
		}
		if err != nil {
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				errs = append(errs, e.Error())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(tt.errors, errs); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", tt.reason, diff)
		}
	}
	read, err := ParseManifests(strings.NewReader(good))
	if err != nil || len(read) != 1 || read[0].Source != "manifests" {
		t.Errorf("without a name: %v, %v", read, err)
	}
}
