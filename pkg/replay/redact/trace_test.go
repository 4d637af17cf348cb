package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedactTrace(t *testing.T) {
	const line = `{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"hunter2","changed":[` +
		`{"path":"data.password","old":"hunter2","new":"other"},{"path":"data","new":{"password":"hunter2","n":7}},` +
		`{"path":"metadata.annotations[example.com/token]","new":"hunter2"},` +
		`{"path":"spec.containers[name=web].env[name=A].value","new":"hunter2"}],"message":"it is hunter2"}`
	for _, row := range []struct {
		reason string
		rules  []string
		want   string
	}{
		{"no rules: the line as it is", nil, line},
		{"a field that nothing has", []string{"cm:data.color.blue"}, `{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"hunter2","changed":[` +
			`{"path":"data.password","old":"hunter2","new":"other"},{"path":"data","new":{"password":"<hunter2>","n":0}},` +
			`{"path":"metadata.annotations[example.com/token]","new":"hunter2"},` +
			`{"path":"spec.containers[name=web].env[name=A].value","new":"hunter2"}],"message":"it is hunter2"}`},
		{"a field, and what it is in as a whole", []string{"cm:data.password"}, `{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"hunter2","changed":[` +
			`{"path":"data.password","old":"<hunter2>","new":"<other>"},{"path":"data","new":{"password":"<hunter2>","n":0}},` +
			`{"path":"metadata.annotations[example.com/token]","new":"hunter2"},` +
			`{"path":"spec.containers[name=web].env[name=A].value","new":"hunter2"}],"message":"it is hunter2"}`},
		{"a key with dots, and what is in a list", []string{`*:metadata.annotations['example.com/token']`, "pods:spec.containers[0].env[*].value"},
			`{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"hunter2","changed":[` +
				`{"path":"data.password","old":"hunter2","new":"other"},{"path":"data","new":{"password":"hunter2","n":7}},` +
				`{"path":"metadata.annotations[example.com/token]","new":"<hunter2>"},` +
				`{"path":"spec.containers[name=web].env[name=A].value","new":"<hunter2>"}],"message":"it is hunter2"}`},
		{"any step may be one into a list", []string{"pods:spec.containers.*.env.*.value"},
			`{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"hunter2","changed":[` +
				`{"path":"data.password","old":"hunter2","new":"other"},{"path":"data","new":{"password":"hunter2","n":7}},` +
				`{"path":"metadata.annotations[example.com/token]","new":"hunter2"},` +
				`{"path":"spec.containers[name=web].env[name=A].value","new":"<hunter2>"}],"message":"it is hunter2"}`},
		{"a pattern, in all texts", []string{"/hun[t]er2/"}, `{"apiVersion":"x/v1","kind":"TraceEvent","seq":1,"name":"<hunter2>","changed":[` +
			`{"path":"data.password","old":"<hunter2>","new":"other"},{"path":"data","new":{"password":"<hunter2>","n":7}},` +
			`{"path":"metadata.annotations[example.com/token]","new":"<hunter2>"},` +
			`{"path":"spec.containers[name=web].env[name=A].value","new":"<hunter2>"}],"message":"it is <hunter2>"}`},
	} {
		got, err := newRedactor(t, row.rules...).RedactTrace([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
		}
		if diff := cmp.Diff(placeholders(t).Replace(row.want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	if _, err := newRedactor(t, "/x/").RedactTrace([]byte(`{"a":`)); err == nil {
		t.Error("a line that is cut off is no error")
	}
}
