package scenarios

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/report"
)

func TestDiffTrees(t *testing.T) {
	tests := []struct {
		name, reason, upstream, embedded string
		want                             []string
	}{
		{"same", "order of keys does not count", `{"a": 1, "b": [1]}`, `{"b": [1], "a": 1}`, nil},
		{"value", "the path leads to it", `{"a": {"b": 1}}`, `{"a": {"b": 2}}`, []string{".a.b 1 2"}},
		{"missing", "of a subtree the root is enough", `{"a": {"b": {"c": 1}}}`, `{"a": {}}`, []string{`.a.b {"c":1} (none)`}},
		{"null", "which is not the same as nothing", `{"a": null}`, `{}`, []string{".a null (none)"}},
		{"list", "items are told by place", `{"a": [1, 2]}`, `{"a": [1, 3, 4]}`, []string{".a[1] 2 3", ".a[2] (none) 4"}},
		{"named", "or by type, if each has one", `[{"type": "x", "s": 1}, {"type": "y"}]`, `[{"type": "x", "s": 2}, {"type": "y"}]`, []string{".x.s 1 2"}},
		{"order", "whose order counts too", `[{"type": "x"}, {"type": "y"}]`, `[{"type": "y"}, {"type": "x"}]`, []string{` (order)[0] "x" "y"`, ` (order)[1] "y" "x"`}},
		{"key with a dot", "which a dot in it would hide", `{"a.b/c": 1}`, `{"a.b/c": 2}`, []string{"[a.b/c] 1 2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var upstream, embedded any
			if json.Unmarshal([]byte(tt.upstream), &upstream) != nil || json.Unmarshal([]byte(tt.embedded), &embedded) != nil {
				t.Fatal("bad table")
			}
			var got []string
			for _, d := range diffTrees("", upstream, embedded) {
				got = append(got, d.path+" "+value(d.upstream)+" "+value(d.embedded))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

// side is an outcome with so many pods of that phase, Events and writes.
func side(t *testing.T, phases []string, events []Event, writes ...Write) *Outcome {
	t.Helper()
	o := &Outcome{Events: events, Writes: writes}
	for i, phase := range phases {
		name := "web-" + string(rune('a'+i)) + phase
		o.Objects = append(o.Objects, Object{"pods", parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "`+name+`",
			"generateName": "web-", "uid": "u-`+name+`", "resourceVersion": "1"}, "status": {"phase": "`+phase+`"}}`)})
	}
	return o
}

func write(verb, subresource string, code int, reason string) Write {
	return Write{Controller: "c", Verb: verb, Resource: schema.GroupResource{Group: "apps", Resource: "things"}, Subresource: subresource, Code: code, Reason: reason}
}

func TestCompare(t *testing.T) {
	event := func(message string, count int64) []Event {
		return []Event{{Component: "c", Kind: "Pod", Type: "Normal", Reason: "R", Message: message, Count: count}}
	}
	tests := []struct {
		name, reason       string
		upstream, embedded *Outcome
		want               []string
	}{{
		name: "alike", reason: "which pod is which has no meaning",
		upstream: side(t, []string{"Running", "Pending"}, nil), embedded: side(t, []string{"Pending", "Running"}, nil),
	}, {
		name: "one differs", reason: "those that are alike are left out before the rest is compared",
		upstream: side(t, []string{"Running", "Pending"}, nil), embedded: side(t, []string{"Failed", "Running"}, nil),
		want: []string{`object pods/web-* .status.phase "Pending" "Failed"`},
	}, {
		name: "events", reason: "occurrences count, however many Events they are",
		upstream: side(t, nil, append(event("m", 2), event("m", 1)...)), embedded: side(t, nil, event("m", 3)),
	}, {
		name: "one event more", reason: "the number differs, the messages do not",
		upstream: side(t, nil, event("m", 2)), embedded: side(t, nil, event("m", 3)),
		want: []string{"event c Pod Normal R 2 3"},
	}, {
		name: "other message", reason: "the number does not differ, the messages do",
		upstream: side(t, nil, event("m", 1)), embedded: side(t, nil, event("(combined from similar events): n", 1)),
		want: []string{"message c Pod Normal R: m 1 0", "message c Pod Normal R: n 0 1"},
	}, {
		name: "a conflict", reason: "whether two writers meet is a matter of time",
		upstream: side(t, nil, append(event("m", 1), event("cannot be fulfilled on things \"a\": "+conflict, 1)...)),
		embedded: side(t, nil, event("m", 1)),
	}, {
		name: "writes", reason: "refused ones are counted by reason, apart from the others",
		upstream: side(t, nil, nil, write("update", "", 200, ""), write("update", "", 409, "Conflict")),
		embedded: side(t, nil, nil, write("update", "", 200, ""), write("update", "", 200, "")),
		want:     []string{"write c update things.apps 1 2", "write c update things.apps Conflict 1 0"},
	}, {
		name: "a rule", reason: "of a status it counts only that it was written",
		upstream: side(t, nil, nil, write("update", "status", 200, ""), write("update", "status", 200, "")),
		embedded: side(t, nil, nil, write("update", "status", 200, "")),
	}, {
		name: "a rule that does not hold", reason: "and it must have been written",
		upstream: side(t, nil, nil, write("update", "status", 200, "")), embedded: side(t, nil, nil),
		want: []string{"write c update things.apps/status 1 0"},
	}}
	rules := []Rule{{At: "write * update */status", As: Presence, Reason: "test"}, {At: "write *", As: Exact, Reason: "test"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range Compare(tt.upstream, tt.embedded, rules) {
				got = append(got, d.At+" "+d.Real+" "+d.Embedded)
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

func TestRuleForAField(t *testing.T) {
	left, right := side(t, []string{"Running"}, nil), side(t, []string{"Failed"}, nil)
	rules := []Rule{{At: "object pods/web-* .status.phase", As: Ignored, Reason: "test"}}
	if got := Compare(left, right, rules); len(got) != 0 {
		t.Errorf("got %v, want the field left out", got)
	}
	right.Objects[0].SetLabels(map[string]string{"a": "b"})
	if got := Compare(left, right, rules); len(got) != 1 || got[0].At != "object pods/web-* .metadata.labels" {
		t.Errorf("got %v, want the other field alone", got)
	}
}

func TestEventOf(t *testing.T) {
	tests := []struct{ reason, event, want string }{
		{
			"the core API's recorder", `"source": {"component": "c"}, "involvedObject": {"kind": "Pod", "name": "p"}, "type": "Normal", "reason": "R", "message": "m", "count": 4`,
			`c Pod p Normal R "m" (4)`,
		}, {
			"the recorder of events.k8s.io", `"reportingComponent": "c", "involvedObject": {"kind": "Pod", "name": "p"}, "type": "Warning", "reason": "R", "message": "m", "series": {"count": 2}`,
			`c Pod p Warning R "m" (2)`,
		}, {
			"an Event without a count is one", `"reportingComponent": "c", "involvedObject": {"kind": "Pod", "name": "p"}, "type": "Normal", "reason": "R"`,
			`c Pod p Normal R "" (1)`,
		},
	}
	for _, tt := range tests {
		if got := eventOf(parsed(t, `{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, `+tt.event+`}`)).String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.reason, got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	s := &Scenario{Name: "rolling", About: "it rolls"}
	r := NewReport([]Meant{{Scenario: "roll*", At: "event kubelet *", Reason: "a"}, {Scenario: "other", At: "*", Reason: "b"}}, nil)
	o := side(t, nil, nil, write("create", "", 201, ""))
	left := r.Add(s, o, o, []Difference{{At: "event kubelet Pod"}, {At: "write x"}})
	if len(left) != 1 || left[0].At != "write x" {
		t.Errorf("got %v, want what is not meant", left)
	}
	r.Add(&Scenario{Name: "rolls"}, o, o, []Difference{{At: "event kubelet Pod"}})
	r.Add(&Scenario{Name: "x"}, o, o, nil)
	r.Fail(&Scenario{Name: "y"})
	r.Repeat(&Scenario{Name: "y"})
	r.Repeat(s)
	if diff := cmp.Diff([]string{"rolling", "y"}, r.Repeated()); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
	if unneeded := r.Unneeded(); len(unneeded) != 1 || unneeded[0].Reason != "b" {
		t.Errorf("unneeded: got %v, want the line of the other scenario", unneeded)
	}
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	suites, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if counts := suites[0].Counts(); counts != (report.Counts{Same: 1, Meant: 1, Different: 2}) {
		t.Errorf("got %+v", counts)
	}
	if meant := suites[0].Meant[0]; meant.Where != "roll*: event kubelet *" || meant.Times != 2 {
		t.Errorf("got %+v", meant)
	}
	if diff := cmp.Diff([]string{"rolling", "y"}, suites[0].Repeated); diff != "" {
		t.Errorf("repeated, in the report (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(dir, "controllers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Scenarios []Result }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if first := got.Scenarios[0]; first.Name != "rolling" || first.Result != Different || first.Writes["c create things.apps"] != [2]int{1, 1} || len(first.Meant) != 1 {
		t.Errorf("got %+v", first)
	}
}

func TestLogs(t *testing.T) {
	dir := t.TempDir()
	audit, trace := filepath.Join(dir, "audit"), filepath.Join(dir, "trace")
	lines := map[string]string{
		audit: `{"verb":"update","user":{"username":"system:serviceaccount:kube-system:deployment-controller"},"objectRef":{"resource":"deployments","apiGroup":"apps","subresource":"status","namespace":"n","name":"web"},"responseStatus":{"code":409,"reason":"Conflict"},"requestReceivedTimestamp":"2026-01-02T03:04:06.000000Z"}
{"verb":"create","user":{"username":"system:serviceaccount:kube-system:generic-garbage-collector"},"objectRef":{"resource":"pods","namespace":"n"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}
{"verb":"create","user":{"username":"admin"},"objectRef":{"resource":"pods","namespace":"n"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}
{"verb":"create","user":{"username":"system:serviceaccount:kube-system:x"},"objectRef":{"resource":"pods","namespace":"other"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}
{"verb":"crea`,
		trace: `{"time":"2026-01-02T03:04:05Z","type":"request","controller":"garbagecollector","verb":"create","resource":"pods","namespace":"n","code":201}
{"time":"2026-01-02T03:04:05Z","type":"request","controller":"garbagecollector","verb":"get","resource":"pods","namespace":"n","code":200}
{"time":"2026-01-02T03:04:05Z","type":"end","controller":"garbagecollector"}
{"time":"2026-01-02T03:04:06Z","type":"request","controller":"deployment","verb":"update","group":"apps","resource":"deployments","subresource":"status","namespace":"n","name":"web","code":409,"reason":"Conflict"}
`,
	}
	for file, text := range lines {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, read := range map[string]Writes{
		"audit": AuditLog(audit, Names{"system:serviceaccount:kube-system:generic-garbage-collector": "garbagecollector"}), "trace": Trace(trace, nil),
	} {
		writes, err := read("n")
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, w := range writes {
			keys = append(keys, w.Key())
		}
		if got, want := strings.Join(keys, "; "), "garbagecollector create pods; deployment update deployments.apps/status Conflict"; got != want {
			t.Errorf("%s: got %q, want %q: writes of controllers alone, in this namespace, by time", name, got, want)
		}
	}
}

func TestHalfALineIsReadLater(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace")
	line := `{"type":"request","controller":"c","verb":"create","resource":"pods","namespace":"n","code":201}` + "\n"
	read := Trace(file, nil)
	if err := os.WriteFile(file, []byte(line[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	if writes, err := read("n"); err != nil || len(writes) != 0 {
		t.Errorf("got %v and %v of half a line, want nothing", writes, err)
	}
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if writes, err := read("n"); err != nil || len(writes) != 1 {
		t.Errorf("got %v and %v of the whole line, want one write", writes, err)
	}
}

func TestHistoryIsInOrder(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := write("create", "", 201, "")
	w.At, w.Name = start.Add(2*time.Second), "web"
	got := history(start, []Write{w}, []telling{{start.Add(time.Second), "told"}, {start.Add(3 * time.Second), "later"}})
	want := []string{"1.000s told", "2.000s c create things.apps web: 201", "3.000s later"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}
