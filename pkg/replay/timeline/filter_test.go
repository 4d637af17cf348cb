package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// family is a recording with a Deployment, its ReplicaSet and Pod, and things that are none of it. The Pod comes before
// its owners, as lists of kinds may.
func family(t *testing.T) *recording {
	t.Helper()
	r := newRecording(t)
	object := func(namespace, name, owner, rest string) string {
		references := ""
		if kind, name, ok := strings.Cut(owner, "/"); ok {
			references = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":"uid-%[2]s","controller":true}]`, kind, name)
		}
		uid := "uid-" + name
		if namespace != "shop" {
			uid += namespace
		}
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":%q%s}%s}`, name, namespace, uid, references, rest)
	}
	event := func(name, about string) string {
		kind, about, _ := strings.Cut(about, "/")
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":"uid-%[1]s"},"reason":"R","reportingComponent":"kubelet",`+
			`"involvedObject":{"apiVersion":"v1","kind":%[2]q,"name":%[3]q,"namespace":"shop","uid":"uid-%[3]s"}}`, name, kind, about)
	}
	r.object(replay.TypeAdded, "Pod", object("shop", "web-rs-x", "ReplicaSet/web-rs", `,"spec":{"nodeName":"n1"}`))
	r.object(replay.TypeAdded, "ReplicaSet", object("shop", "web-rs", "Deployment/web", ""))
	r.object(replay.TypeAdded, "Deployment", object("shop", "web", "", ""))
	r.object(replay.TypeAdded, "Deployment", object("other", "web", "", ""))
	r.object(replay.TypeAdded, "Pod", object("other", "alone", "", ""))
	r.object(replay.TypeAdded, "Node", `{"metadata":{"name":"n1","uid":"uid-n1"}}`)
	r.object(replay.TypeAdded, "Event", event("e1", "Pod/web-rs-x"))
	r.object(replay.TypeAdded, "Event", event("e2", "Job/j"))
	r.object(replay.TypeModified, "Pod", object("shop", "web-rs-x", "", `,"spec":{"nodeName":"n2"},"status":{"phase":"Running"}`))
	r.Append(&replay.Record{Time: r.now, Type: replay.TypeGap, Gap: &replay.Gap{}})
	return r
}

// names are the entries in short.
func names(entries []*Entry) string {
	var out []string
	for _, e := range entries {
		text := string(e.Type)
		if e.Object != nil {
			text += " " + e.Object.Namespace + "/" + e.Object.Name
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestFilters(t *testing.T) {
	const gap = "GAP"
	for _, row := range []struct {
		reason string
		filter Filter
		want   string
	}{
		{
			"nothing is left out", Filter{},
			"ADDED shop/web-rs-x, ADDED shop/web-rs, ADDED shop/web, ADDED other/web, ADDED other/alone, ADDED /n1, EVENT shop/web-rs-x, EVENT shop/j, MODIFIED shop/web-rs-x, GAP",
		},
		{"a namespace: cluster-scoped objects are in none", Filter{Namespace: "other"}, "ADDED other/web, ADDED other/alone, GAP"},
		{"a kind by its short name", Filter{Kinds: []string{"deploy"}}, "ADDED shop/web, ADDED other/web, GAP"},
		{"a kind with its group, in any case", Filter{Kinds: []string{"Deployments.apps"}}, "ADDED shop/web, ADDED other/web, GAP"},
		{"a kind with version and group", Filter{Kinds: []string{"deployment.v1.apps"}}, "ADDED shop/web, ADDED other/web, GAP"},
		{"a kind with another group", Filter{Kinds: []string{"deployment.extensions"}}, gap},
		{"Events about objects of a kind", Filter{Kinds: []string{"pods"}}, "ADDED shop/web-rs-x, ADDED other/alone, EVENT shop/web-rs-x, MODIFIED shop/web-rs-x, GAP"},
		{"Events about a kind that was not recorded", Filter{Kinds: []string{"jobs"}}, "EVENT shop/j, GAP"},
		{"Events themselves", Filter{Kinds: []string{"events"}}, "EVENT shop/web-rs-x, EVENT shop/j, GAP"},
		{"an object", Filter{Objects: []Name{{Kind: "po", Name: "web-rs-x"}}}, "ADDED shop/web-rs-x, EVENT shop/web-rs-x, MODIFIED shop/web-rs-x, GAP"},
		{"an object of any namespace", Filter{Objects: []Name{{Kind: "deploy", Name: "web"}}}, "ADDED shop/web, ADDED other/web, GAP"},
		{"an object of a namespace", Filter{Objects: []Name{{Kind: "deploy", Namespace: "other", Name: "web"}}}, "ADDED other/web, GAP"},
		{"a cluster-scoped object, with a namespace that does not matter", Filter{Objects: []Name{{Kind: "no", Namespace: "shop", Name: "n1"}}}, "ADDED /n1, GAP"},
		{"a field, with its first value", Filter{Fields: []string{"spec.nodeName"}}, "ADDED shop/web-rs-x, MODIFIED shop/web-rs-x, GAP"},
		{"a field above", Filter{Fields: []string{"status"}}, "MODIFIED shop/web-rs-x, GAP"},
		{"a name that a field only begins with", Filter{Fields: []string{"spec.node"}}, gap},
		{"a writer: who reports Events", Filter{Writers: []string{"Kubelet"}}, "EVENT shop/web-rs-x, EVENT shop/j, GAP"},
		{"types", Filter{Types: []Type{Modified}}, "MODIFIED shop/web-rs-x"},
		{"all of several", Filter{Namespace: "shop", Kinds: []string{"pods"}, Types: []Type{Added, Gap}}, "ADDED shop/web-rs-x, GAP"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			if diff := cmp.Diff(row.want, names(family(t).entries(Options{Filter: row.filter}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsAreTrimmed(t *testing.T) {
	r := family(t)
	entries := r.entries(Options{Filter: Filter{Fields: []string{"spec.nodeName"}, Types: []Type{Modified}}})
	if len(entries) != 1 || len(entries[0].Change.Fields) != 1 || entries[0].Change.Fields[0].Path != "spec.nodeName" {
		t.Errorf("fields that were not asked for are in %+v", entries[0].Change)
	}
}

// TestFirstValuesOfSecrets: a field that is asked for is shown from its first value on, that of a Secret as hidden.
func TestFirstValuesOfSecrets(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeAdded, "Secret", pod("", `,"data":{"a":"eA=="}`))
	entries := r.entries(Options{Filter: Filter{Fields: []string{"data"}}})
	if len(entries) != 1 {
		t.Fatalf("there are %d entries", len(entries))
	}
	if diff := cmp.Diff([]fields.Change{{Path: "data.a", New: fields.HiddenValue}}, entries[0].Change.Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTree(t *testing.T) {
	roots := []Name{{Kind: "deploy", Namespace: "shop", Name: "web"}}
	r := family(t)
	ahead := Options{Filter: Filter{Tree: NewTree(roots)}}
	if err := ReadAhead(&r.Memory, &ahead); err != nil {
		t.Fatal(err)
	}
	want := "ADDED shop/web-rs-x, ADDED shop/web-rs, ADDED shop/web, EVENT shop/web-rs-x, MODIFIED shop/web-rs-x, GAP"
	if diff := cmp.Diff(want, names(r.entries(ahead))); diff != "" {
		t.Errorf("the Pod is part of it at any time, although it comes first and loses its owner (-want +got):\n%s", diff)
	}
	want = "ADDED shop/web-rs, ADDED shop/web, GAP"
	if diff := cmp.Diff(want, names(r.entries(Options{Filter: Filter{Tree: NewTree(roots)}}))); diff != "" {
		t.Errorf("without a scan, what comes before its owner is not known to be part (-want +got):\n%s", diff)
	}
}

func TestSelection(t *testing.T) {
	r := family(t)
	got := map[replay.Type]int{}
	err := eachRecord(Select(&r.Memory, Options{Filter: Filter{Kinds: []string{"pods"}}, Since: replay.Moment{Number: 3}, Until: replay.Moment{Number: 13}}),
		func(r *replay.Record) { got[r.Type]++ })
	want := map[replay.Type]int{replay.TypeStream: 5, replay.TypeAdded: 2}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("all streams, and of the rest what is selected: %v (-want +got):\n%s", err, diff)
	}
}

func TestBounds(t *testing.T) {
	r := newRecording(t)
	for n := range 5 {
		r.wait(time.Second)
		r.object(replay.TypeAdded, "ConfigMap", fmt.Sprintf(`{"metadata":{"name":"c%d","uid":"u%[1]d","resourceVersion":"%d"}}`, n, 100+10*n))
	}
	for _, row := range []struct {
		reason       string
		since, until replay.Moment
		want         string
	}{
		{"numbers, both included", replay.Moment{Number: 3}, replay.Moment{Number: 4}, "c1 c2"},
		{"times, both included", replay.Moment{Time: start.Add(2 * time.Second)}, replay.Moment{Time: start.Add(3 * time.Second)}, "c1 c2"},
		{"versions: from the first that is not older, to the first that is not", replay.Moment{ResourceVersion: "115"}, replay.Moment{ResourceVersion: "125"}, "c2 c3"},
		{"none", replay.Moment{}, replay.Moment{}, "c0 c1 c2 c3 c4"},
		{"the first change", replay.Moment{Start: true}, replay.Moment{Number: 2}, "c0"},
	} {
		var got []string
		for _, e := range r.entries(Options{Since: row.since, Until: row.until}) {
			got = append(got, e.Object.Name)
		}
		if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestUnknownKinds(t *testing.T) {
	r := family(t)
	timeline := New(&r.Memory, Options{Filter: Filter{Kinds: []string{"pods", "jobs", "deploymnts"}}})
	if _, err := readAll(timeline); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"deploymnts"}, timeline.UnknownKinds()); diff != "" {
		t.Errorf("jobs are not recorded, but Events about them are (-want +got):\n%s", diff)
	}
	if !timeline.SeveralNamespaces() {
		t.Error("there are two namespaces")
	}
}

func TestFindAbsent(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeListItem, "Deployment", deployment("web", 1, 1, 1, 1, ""))
	r.object(replay.TypeListItem, "Pod", `{"metadata":{"name":"web-1","namespace":"shop","uid":"p","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5f","uid":"rs"}]}}`)
	r.object(replay.TypeListItem, "Node", `{"metadata":{"name":"n1","uid":"n"}}`)
	r.object(replay.TypeListItem, "Event", `{"metadata":{"name":"e","namespace":"shop","uid":"e"},"involvedObject":{"apiVersion":"v1","kind":"Service","name":"svc","namespace":"shop"}}`)
	r.object(replay.TypeListItem, "Namespace", `{"metadata":{"name":"bare","uid":"ns"}}`)
	for _, row := range []struct {
		reason string
		filter Filter
		want   Absent
	}{
		{"an object that there is", Filter{Objects: []Name{{Kind: "deploy", Name: "web"}}}, Absent{}},
		{
			"a name that there is not", Filter{Objects: []Name{{Kind: "deploy", Name: "wbe"}}},
			Absent{Objects: []AbsentObject{{Name{Kind: "deploy", Name: "wbe"}, []string{"web"}}}},
		},
		{
			"one of another kind", Filter{Objects: []Name{{Kind: "pods", Name: "web"}, {Kind: "deploy", Name: "web"}}},
			Absent{Objects: []AbsentObject{{Name{Kind: "pods", Name: "web"}, []string{"web-1"}}}},
		},
		{
			"one in another namespace", Filter{Namespace: "shop", Objects: []Name{{Kind: "pods", Namespace: "bare", Name: "web-1"}}},
			Absent{Objects: []AbsentObject{{Name{Kind: "pods", Namespace: "bare", Name: "web-1"}, []string{"web-1"}}}},
		},
		{"what Events are about", Filter{Objects: []Name{{Kind: "svc", Name: "svc"}}}, Absent{}},
		{"an object that is cluster-scoped", Filter{Objects: []Name{{Kind: "node", Namespace: "shop", Name: "n1"}}}, Absent{}},
		{"the root of a tree that only its dependents name", Filter{Tree: NewTree([]Name{{Kind: "rs", Name: "web-5f"}})}, Absent{}},
		{
			"a root that there is not", Filter{Tree: NewTree([]Name{{Kind: "deploy", Name: "webb"}})},
			Absent{Objects: []AbsentObject{{Name{Kind: "deploy", Name: "webb"}, []string{"web"}}}},
		},
		{"a namespace", Filter{Namespace: "shop"}, Absent{}},
		{"a namespace without objects", Filter{Namespace: "bare"}, Absent{}},
		{"a namespace that there is not", Filter{Namespace: "shp"}, Absent{Namespace: "shp", Namespaces: []string{"bare", "shop"}}},
	} {
		if err := r.Rewind(); err != nil {
			t.Fatal(err)
		}
		got, err := FindAbsent(&r.Memory, row.filter)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", row.reason, err, diff)
		}
	}
}
