package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// summarize returns the summary of a recording.
func (r *recording) summarize() *Summary {
	r.t.Helper()
	if err := r.Rewind(); err != nil {
		r.t.Fatal(err)
	}
	s := NewSummarizer(nil)
	entries, err := readAll(New(&r.Memory, s.Options(Filter{})))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		s.Add(e)
	}
	return s.Summary()
}

// deployment is a Deployment with a spec of that generation, of which so many of its pods are ready.
func deployment(name string, generation, observed, wanted, ready int, more string) string {
	available := "False"
	if ready == wanted {
		available = "True"
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":"uid-%[1]s","generation":%[2]d,"creationTimestamp":"2026-01-31T14:20:00Z"%[7]s},`+
		`"spec":{"replicas":%[4]d,"strategy":{"rollingUpdate":{}}},"status":{"observedGeneration":%[3]d,"replicas":%[4]d,"updatedReplicas":%[4]d,"readyReplicas":%[5]d,`+
		`"availableReplicas":%[5]d,"conditions":[{"type":"Available","status":%[6]q},{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated"}]}}`,
		name, generation, observed, wanted, ready, available, more)
}

func TestReadiness(t *testing.T) {
	second := trace.Duration(time.Second)
	type step struct {
		wait time.Duration
		typ  replay.Type
		text string
	}
	for _, row := range []struct {
		reason string
		steps  []step
		want   []string // cause, took, idle, end
	}{
		{
			"created, and ready after a while in which nothing happens", []step{
				{0, replay.TypeAdded, deployment("web", 1, 0, 2, 0, "")}, {time.Second, replay.TypeModified, deployment("web", 1, 1, 2, 1, "")},
				{5 * time.Second, replay.TypeModified, deployment("web", 1, 1, 2, 2, "")},
			}, []string{"Created 6s 5s ready"},
		},
		{
			"changed while it is ready", []step{
				{0, replay.TypeListItem, deployment("web", 1, 1, 2, 2, "")}, {time.Second, replay.TypeModified, deployment("web", 2, 1, 3, 2, "")},
				{3 * time.Second, replay.TypeModified, deployment("web", 2, 2, 3, 3, "")},
			}, []string{"SpecChanged 3s 3s ready"},
		},
		{
			"changed again before it is ready", []step{
				{0, replay.TypeListItem, deployment("web", 1, 1, 2, 2, "")}, {time.Second, replay.TypeModified, deployment("web", 2, 2, 3, 2, "")},
				{time.Second, replay.TypeModified, deployment("web", 3, 2, 4, 2, "")}, {2 * time.Second, replay.TypeModified, deployment("web", 3, 3, 4, 4, "")},
			}, []string{"SpecChanged 2s 2s ready", "SpecChanged 1s 1s superseded"},
		},
		{
			"a pod is lost, and not replaced", []step{
				{0, replay.TypeListItem, deployment("web", 1, 1, 2, 2, "")}, {time.Second, replay.TypeModified, deployment("web", 1, 1, 2, 1, "")},
				{9 * time.Second, replay.TypeAdded, `{"metadata":{"name":"later","uid":"x"}}`},
			}, []string{"Lost 9s 9s InProgress: 1 of 2 updated pods available"},
		},
		{
			"deleted before it is ready", []step{
				{0, replay.TypeAdded, deployment("web", 1, 1, 2, 1, "")}, {4 * time.Second, replay.TypeDeleted, deployment("web", 1, 1, 2, 1, "")},
			}, []string{"Created 4s 4s deleted"},
		},
		{
			"not ready when the recording begins", []step{
				{0, replay.TypeListItem, deployment("web", 1, 1, 2, 1, "")}, {time.Second, replay.TypeModified, deployment("web", 1, 1, 2, 2, "")},
			}, []string{"Existing 1s 1s ready"},
		},
		{"ready all the time", []step{{0, replay.TypeListItem, deployment("web", 1, 1, 2, 2, "")}}, nil},
		{
			"what another object manages is part of that", []step{
				{0, replay.TypeAdded, deployment("web", 1, 1, 2, 1, `,"ownerReferences":[{"kind":"App","name":"a","uid":"a","controller":true}]`)},
				{time.Second, replay.TypeDeleted, deployment("web", 1, 1, 2, 1, "")},
			}, nil,
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			for _, s := range row.steps {
				r.wait(s.wait)
				kind := "Deployment"
				if strings.Contains(s.text, "later") {
					kind = "ConfigMap"
				}
				r.object(s.typ, kind, s.text)
			}
			var got []string
			for _, one := range r.summarize().Readiness {
				end := one.Stuck
				switch {
				case one.Ready:
					end = "ready"
				case one.Deleted:
					end = "deleted"
				case one.Superseded:
					end = "superseded"
				}
				got = append(got, fmt.Sprintf("%s %ds %ds %s", one.Cause, one.Took/second, one.Idle/second, end))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlapping(t *testing.T) {
	object := func(spec, status, manager string, second int) string {
		return fmt.Sprintf(`{"metadata":{"name":"web","namespace":"shop","uid":"u","managedFields":[%s]},"spec":{"x":%q},"status":{%s}}`,
			managed(manager, "", second, `{}`), spec, status)
	}
	condition := func(status string) string { return fmt.Sprintf(`"conditions":[{"type":"Ready","status":%q}]`, status) }
	for _, row := range []struct {
		reason string
		values [][3]string // spec.x, status, manager
		want   []string    // field, returns, values
	}{
		{
			"two writers fight", [][3]string{{"a", "", "flux"}, {"b", "", "hpa"}, {"a", "", "flux"}, {"b", "", "hpa"}, {"a", "", "flux"}},
			[]string{"spec.x 3 a:flux=2 b:hpa=2"},
		},
		{"there and back once", [][3]string{{"a", "", "x"}, {"b", "", "x"}, {"a", "", "x"}}, nil},
		{"always another value", [][3]string{{"a", "", "x"}, {"b", "", "x"}, {"c", "", "x"}, {"d", "", "x"}}, nil},
		{
			"a condition", [][3]string{{"", condition("True"), "x"}, {"", condition("False"), "x"}, {"", condition("True"), "x"}, {"", condition("False"), "x"}},
			[]string{"status.conditions[type=Ready] 2 False:x=2 True:x=1"},
		},
		{
			"numbers in a status of one writer", [][3]string{{"", `"n":1`, "x"}, {"", `"n":2`, "x"}, {"", `"n":1`, "x"}, {"", `"n":2`, "x"}, {"", `"n":1`, "x"}}, nil,
		},
		{
			"numbers in a status of two writers", [][3]string{{"", `"n":1`, "x"}, {"", `"n":2`, "y"}, {"", `"n":1`, "x"}, {"", `"n":2`, "y"}, {"", `"n":1`, "x"}},
			[]string{"status.n 3 1:x=2 2:y=2"},
		},
		{
			"three values in turn", [][3]string{{"a", "", "x"}, {"b", "", "x"}, {"c", "", "x"}, {"a", "", "x"}, {"b", "", "x"}, {"c", "", "x"}},
			[]string{"spec.x 3 b:x=2 c:x=2 a:x=1"},
		},
		{
			"five values in turn, of three writers", [][3]string{
				{"a", "", "x"}, {"b", "", "y"}, {"c", "", "z"}, {"d", "", "x"}, {"e", "", "y"}, {"a", "", "z"}, {"b", "", "x"}, {"c", "", "y"},
			}, []string{"spec.x 3 b:x+y=2 c:y+z=2 a:z=1 d:x=1 e:y=1"},
		},
		{"up and down again once, as an autoscaler scales", [][3]string{{"3", "", "x"}, {"4", "", "x"}, {"5", "", "x"}, {"4", "", "x"}, {"3", "", "x"}}, nil},
		{
			"a time that comes and goes, always another one", [][3]string{
				{"", "", "x"}, {"2026-01-31T14:20:01Z", "", "x"}, {"", "", "x"}, {"2026-01-31T14:20:02Z", "", "x"}, {"", "", "x"}, {"2026-01-31T14:20:03Z", "", "x"}, {"", "", "x"},
			}, nil,
		},
		{
			"two writers who disagree about a time", [][3]string{
				{"2026-01-31T14:20:01Z", "", "x"}, {"2026-01-31T14:20:02Z", "", "y"}, {"2026-01-31T14:20:01Z", "", "x"}, {"2026-01-31T14:20:02Z", "", "y"},
			}, []string{"spec.x 2 2026-01-31T14:20:02Z:y=2 2026-01-31T14:20:01Z:x=1"},
		},
		{
			"conditions in three orders in turn", [][3]string{
				{"", ordered("A", "B", "C"), "x"}, {"", ordered("B", "C", "A"), "x"}, {"", ordered("C", "A", "B"), "x"}, {"", ordered("A", "B", "C"), "x"},
				{"", ordered("B", "C", "A"), "x"},
			}, []string{`status.conditions 2 ["B","C","A"]:x=2 ["A","B","C"]:x=1 ["C","A","B"]:x=1`},
		},
		{
			"a field that comes and goes", [][3]string{{"", ``, "x"}, {"", `"a":"b"`, "x"}, {"", ``, "x"}, {"", `"a":"b"`, "x"}},
			[]string{"status.a 2 b:x=2 :x=1"},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			for i, v := range row.values {
				typ := replay.TypeModified
				if i == 0 {
					typ = replay.TypeListItem
				}
				r.wait(time.Second)
				r.object(typ, "ConfigMap", object(v[0], v[1], v[2], i))
			}
			var got []string
			for _, f := range r.summarize().Flapping {
				text := fmt.Sprintf("%s %d", f.Field, f.Returns)
				for _, v := range f.Values {
					text += fmt.Sprintf(" %s:%s=%d", v.Value, strings.Join(v.Writers, "+"), v.Count)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ordered are conditions of these types.
func ordered(types ...string) string {
	var out []string
	for _, name := range types {
		out = append(out, fmt.Sprintf(`{"type":%q,"status":"True","lastTransitionTime":"2026-01-31T14:00:00Z"}`, name))
	}
	return `"conditions":[` + strings.Join(out, ",") + `]`
}

func TestRewrites(t *testing.T) {
	const generation = `"observedGeneration":1,`
	at := func(format string) func(int) string {
		return func(i int) string {
			return generation + fmt.Sprintf(format, start.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
		}
	}
	turn := func(values ...string) func(int) string {
		return func(i int) string { return generation + values[i%len(values)] }
	}
	for _, row := range []struct {
		reason, kind string
		status       func(i int) string
		want         []string // only, writes, fields and writers
		changes      int      // of five writes
	}{
		{"conditions swap places", "ConfigMap", turn(ordered("A", "B"), ordered("B", "A")), []string{"Order 5 [status.conditions] [op]"}, 5},
		{
			"a list of values, which has no keys", "ConfigMap", turn(`"ips":["1","2","3"]`, `"ips":["3","1","2"]`, `"ips":["2","3","1"]`),
			[]string{"Order 5 [status.ips] [op]"}, 5,
		},
		{
			"a list of conditions elsewhere, with other keys", "ConfigMap",
			turn(`"children":[{"name":"a","conditions":[{"type":"X"},{"type":"Y"}]}]`, `"children":[{"name":"a","conditions":[{"type":"Y"},{"type":"X"}]}]`),
			[]string{"Order 5 [status.children[name=a].conditions] [op]"}, 5,
		},
		{
			"entries that are the same twice", "ConfigMap", turn(`"l":[{"a":1},{"a":1},{"b":2}]`, `"l":[{"b":2},{"a":1},{"a":1}]`),
			[]string{"Order 5 [status.l] [op]"}, 5,
		},
		{
			"the time of a condition", "ConfigMap", at(`"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]`),
			[]string{"Times 5 [status.conditions[type=Ready].lastTransitionTime] [op]"}, 5,
		},
		{"a time of another name", "ConfigMap", at(`"lastSync":{"checked":%q}`), []string{"Times 5 [status.lastSync.checked] [op]"}, 5},
		{"a time in a text", "ConfigMap", at(`"message":"checked at %s: ok"`), []string{"Times 5 [status.message] [op]"}, 5},
		{
			"a heartbeat", "ConfigMap", at(`"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]`),
			[]string{"Times 5 [status.conditions[type=Ready].lastHeartbeatTime] [op]"}, 5,
		},
		{
			"a heartbeat that is a number", "ConfigMap", func(i int) string { return fmt.Sprintf(`"heartbeat":%d`, i) },
			[]string{"Times 5 [status.heartbeat] [op]"}, 5,
		},
		{"a heartbeat of a Node, which is written for that", "Node", at(`"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]`), nil, 0},
		{
			"order and times", "ConfigMap", func(i int) string {
				return at(`"at":%q,`)(i)[len(generation):] + turn(ordered("A", "B"), ordered("B", "A"))(i)
			}, []string{"OrderAndTimes 5 [status.at status.conditions] [op]"}, 5,
		},
		{"a value besides", "ConfigMap", func(i int) string { return at(`"at":%q,`)(i) + fmt.Sprintf(`"n":%d`, i) }, nil, 5},
		{"a condition flips", "ConfigMap", func(i int) string {
			return at(`"conditions":[{"type":"Ready","lastTransitionTime":%q,`)(i) + fmt.Sprintf(`"status":%q}]`, []string{"True", "False"}[i%2])
		}, nil, 5},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			for i := range 6 {
				typ := replay.TypeModified
				if i == 0 {
					typ = replay.TypeListItem
				}
				r.wait(time.Second)
				r.object(typ, row.kind, fmt.Sprintf(`{"metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"%d","managedFields":[%s]},"status":{%s}}`,
					i+1, managed("op", "status", i, `{}`), row.status(i)))
			}
			sum := r.summarize()
			var got []string
			for _, one := range sum.Rewrites {
				got = append(got, fmt.Sprintf("%s %d %v %v", one.Only, one.Writes, one.Fields, one.Writers))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if sum.Changes != row.changes {
				t.Errorf("%d changes are counted, want %d", sum.Changes, row.changes)
			}
		})
	}
}

// TestOrderOfSpec: a writer that reorders a list of the spec makes a new generation each time.
func TestOrderOfSpec(t *testing.T) {
	r := newRecording(t)
	for i := range 5 {
		env := []string{`[{"name":"A"},{"name":"B"}]`, `[{"name":"B"},{"name":"A"}]`}[i%2]
		r.object(replay.TypeModified, "Deployment", fmt.Sprintf(`{"metadata":{"name":"web","namespace":"shop","uid":"u","generation":%d},"spec":{"env":%s}}`, i+1, env))
	}
	sum := r.summarize()
	if len(sum.Rewrites) != 1 || sum.Rewrites[0].Only != findings.OnlyOrder || len(sum.Flapping) != 1 || sum.Flapping[0].Field != "spec.env" {
		t.Errorf("got %+v and %+v", sum.Rewrites, sum.Flapping)
	}
	if len(sum.Objects) != 1 || sum.Objects[0].SpecChanges != 4 {
		t.Errorf("got %+v", sum.Objects)
	}
}

func TestRecreations(t *testing.T) {
	object := func(name, owner string) string {
		if owner != "" {
			owner = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":%q,"controller":true}]`, owner)
		}
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":"uid-%[1]s"%s,"managedFields":[%s]}}`, name, owner, managed("op", "", 0, `{}`))
	}
	type step struct {
		typ  replay.Type
		text string
	}
	cycle := func(n int, name func(int) string, owner string) (out []step) {
		for i := range n {
			out = append(out, step{replay.TypeAdded, object(name(i), owner)}, step{replay.TypeDeleted, object(name(i), owner)})
		}
		return out
	}
	same := func(int) string { return "a" }
	other := func(i int) string { return fmt.Sprintf("web-x%d", i) }
	for _, row := range []struct {
		reason string
		steps  []step
		want   []string // name, names, made, deleted, mean time in seconds, owner, uid of the owner
	}{
		{"made and deleted under one name", cycle(4, same, ""), []string{"a 1 4 4 1s  "}},
		{"by an owner that has another uid", cycle(4, same, "other"), []string{"a 1 4 4 1s web uid-web"}},
		{"once, by an owner that has another uid", cycle(1, same, "other"), []string{"a 1 1 1 1s web uid-web"}},
		{"by its owner", cycle(4, same, "uid-web"), []string{"a 1 4 4 1s web "}},
		{"always another name, of one owner", cycle(5, other, "uid-web"), []string{"web-x4 5 5 5 1s web "}},
		{"always another name, without an owner", cycle(5, other, ""), nil},
		{"twice", cycle(2, same, ""), nil},
		{"three objects are replaced one after the other, as in a rollout of a StatefulSet", []step{
			{replay.TypeListItem, object("a-0", "uid-web")}, {replay.TypeListItem, object("a-1", "uid-web")}, {replay.TypeListItem, object("a-2", "uid-web")},
			{replay.TypeDeleted, object("a-2", "uid-web")}, {replay.TypeAdded, object("a-2", "uid-web")},
			{replay.TypeDeleted, object("a-1", "uid-web")}, {replay.TypeAdded, object("a-1", "uid-web")},
			{replay.TypeDeleted, object("a-0", "uid-web")}, {replay.TypeAdded, object("a-0", "uid-web")},
		}, nil},
		{"four are made, and then deleted, as an autoscaler does", []step{
			{replay.TypeAdded, object("x1", "uid-web")}, {replay.TypeAdded, object("x2", "uid-web")}, {replay.TypeAdded, object("x3", "uid-web")}, {replay.TypeAdded, object("x4", "uid-web")},
			{replay.TypeDeleted, object("x1", "uid-web")}, {replay.TypeDeleted, object("x2", "uid-web")}, {replay.TypeDeleted, object("x3", "uid-web")}, {replay.TypeDeleted, object("x4", "uid-web")},
		}, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			r.object(replay.TypeListItem, "Deployment", deployment("web", 1, 1, 1, 1, ""))
			for _, s := range row.steps {
				if s.typ == replay.TypeDeleted {
					r.wait(time.Second)
				}
				r.object(s.typ, "ConfigMap", s.text)
			}
			var got []string
			for _, one := range r.summarize().Recreations {
				owner := ""
				if one.Owner != nil {
					owner = one.Owner.Name
				}
				got = append(got, fmt.Sprintf("%s %d %d %d %s %s %s", one.Object.Name, one.Names, one.Made, one.Deleted, time.Duration(one.Lived), owner, one.OwnerUID))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummaryCounts(t *testing.T) {
	r := newRecording(t)
	container := func(restarts int, state string) string {
		return pod("", fmt.Sprintf(`,"status":{"containerStatuses":[{"name":"main","restartCount":%d,"state":{%s},"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`,
			restarts, state))
	}
	event := func(count int) string {
		return fmt.Sprintf(`{"metadata":{"name":"e","namespace":"shop","uid":"e"},"type":"Warning","reason":"BackOff","message":"m%d","count":%[1]d,`+
			`"involvedObject":{"kind":"Pod","name":"a","namespace":"shop"},"source":{"component":"kubelet"}}`, count)
	}
	r.object(replay.TypeListItem, "Pod", container(1, `"running":{}`))
	r.wait(time.Minute)
	r.object(replay.TypeModified, "Pod", container(2, `"running":{}`))
	r.object(replay.TypeModified, "Pod", container(4, `"waiting":{"reason":"CrashLoopBackOff"}`))
	r.object(replay.TypeAdded, "Event", event(1))
	r.object(replay.TypeModified, "Event", event(5))
	r.object(replay.TypeAdded, "Node", `{"metadata":{"name":"n","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"1"}]}}`)
	r.object(replay.TypeModified, "Node", `{"metadata":{"name":"n","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2"}]}}`)
	r.Append(
		&replay.Record{Time: r.now, Type: replay.TypeError},
		&replay.Record{Time: r.now, Type: replay.TypeGap, Gap: &replay.Gap{Since: r.now.Add(-time.Second), Complete: true}},
		&replay.Record{Time: r.now, Type: replay.TypeGap, Gap: &replay.Gap{Since: r.now.Add(-2 * time.Second)}},
	)
	code := int64(137)
	a := Object{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "a", UID: "u1"}
	want := &Summary{
		First: start, Last: start.Add(time.Minute), Changes: 3, Errors: 1, Gaps: 2, LossyGaps: 1, GapTime: trace.Duration(3 * time.Second),
		Kinds:    []KindCount{{Resource: "pods", Existing: 1, Modified: 2}, {Resource: "nodes", Added: 1}},
		Objects:  []Churn{{Object: a, Changes: 2, PerMinute: 2}, {Object: Object{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}, Changes: 1, PerMinute: 1}},
		Writers:  []WriterChurn{{Changes: 3, Objects: 2, PerMinute: 3}},
		Restarts: []Restarts{{Object: a, Container: "main", Count: 3, Reason: "OOMKilled", ExitCode: &code}},
		Events:   []EventCount{{Type: "Warning", Reason: "BackOff", By: "kubelet", Count: 5, Objects: 1, Last: "m5"}},
	}
	got := r.summarize()
	got.Readiness = nil // see TestReadiness
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContainers(t *testing.T) {
	status := func(text string) []byte { return []byte(`{"containerStatuses":[` + text + `]}`) }
	code := int64(1)
	for _, row := range []struct {
		reason, before, after string
		want                  []ContainerChange
	}{
		{"the first state", ``, `{"name":"a","state":{"waiting":{"reason":"ContainerCreating"}}}`, []ContainerChange{{Name: "a", To: "waiting", Reason: "ContainerCreating"}}},
		{"started", `{"name":"a","state":{"waiting":{"reason":"R"}}}`, `{"name":"a","state":{"running":{}}}`, []ContainerChange{{Name: "a", From: "waiting", To: "running"}}},
		{
			"failed", `{"name":"a","state":{"running":{}}}`, `{"name":"a","state":{"terminated":{"reason":"Error","exitCode":1}}}`,
			[]ContainerChange{{Name: "a", From: "running", To: "terminated", Reason: "Error", ExitCode: &code}},
		},
		{
			"restarted between two versions", `{"name":"a","restartCount":1,"state":{"running":{}}}`,
			`{"name":"a","restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}`,
			[]ContainerChange{{Name: "a", From: "running", To: "running", LastReason: "Error", ExitCode: &code, Restarts: 2, Restarted: 1}},
		},
		{"became ready", `{"name":"a","state":{"running":{}}}`, `{"name":"a","ready":true,"state":{"running":{}}}`, nil},
		{"states of other types", `{"name":"a","state":[]}`, `{"name":"a","state":"x"},1,null`, nil},
	} {
		if diff := cmp.Diff(row.want, containersOf(status(row.before), status(row.after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
