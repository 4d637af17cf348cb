package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// busyRecording has so many events of pods, which are about 4 KB each, as in a cluster.
func busyRecording(events int) *replay.Memory {
	const objects = 1000
	m := &replay.Memory{}
	m.Append(&replay.Record{Time: start, Type: replay.TypeStream, Stream: 1, NewStream: &replay.Stream{
		Number: 1, Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true,
	}})
	padding := strings.Repeat(`{"name":"ENV","value":"some value of a variable of the environment"},`, 30)
	managed := strings.Repeat(`"f:a":{"f:b":{},"f:c":{}},`, 40)
	for n := range events {
		typ := replay.TypeModified
		if n < objects {
			typ = replay.TypeAdded
		}
		name, namespace := fmt.Sprintf("web-%d", n%objects), fmt.Sprintf("n%d", n%10)
		text := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":"u%d","resourceVersion":"%d",`+
			`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"rs","controller":true}],`+
			`"managedFields":[{"manager":"kubelet","operation":"Update","time":%q,"fieldsV1":{%s"f:x":{}}}]},`+
			`"spec":{"containers":[{"name":"web","image":"nginx","env":[%s{"name":"last","value":"x"}]}]},`+
			`"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"reason":"r%d"},{"type":"Other","status":"True"}],`+
			`"containerStatuses":[{"name":"web","restartCount":%d,"state":{"running":{}}}]}}`,
			name, namespace, n%objects, n, start.Add(time.Duration(n)*time.Second).Format(time.RFC3339), managed, padding,
			[]string{"True", "False"}[n/objects%2], n, n/objects)
		m.Append(&replay.Record{
			Time: start.Add(time.Duration(n) * time.Millisecond), Type: typ, Stream: 1, Namespace: namespace, Name: name,
			UID: fmt.Sprintf("u%d", n%objects), ResourceVersion: fmt.Sprint(n), Object: []byte(text),
		})
	}
	return m
}

// BenchmarkTimeline measures 100,000 events in memory: all, and filtered by what a record tells, by a tree and by a
// writer.
func BenchmarkTimeline(b *testing.B) {
	const events = 100_000
	m := busyRecording(events)
	for _, row := range []struct {
		name   string
		filter func() Filter
	}{
		{"all", func() Filter { return Filter{} }},
		{"object", func() Filter { return Filter{Objects: []Name{{Kind: "pod", Name: "web-7"}}} }},
		{"namespace", func() Filter { return Filter{Namespace: "n7"} }},
		{"kind", func() Filter { return Filter{Kinds: []string{"deploy"}} }},
		{"tree", func() Filter { return Filter{Tree: NewTree([]Name{{Kind: "deploy", Name: "web"}})} }},
		{"writer", func() Filter { return Filter{Writers: []string{"kubectl"}} }},
		{"field", func() Filter { return Filter{Fields: []string{"spec.nodeName"}} }},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Rewind(); err != nil {
					b.Fatal(err)
				}
				entries, err := 0, error(nil)
				for t := New(m, Options{Filter: row.filter()}); err == nil; entries++ {
					_, err = t.Next()
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkSummary measures what --summary takes for 100,000 events.
func BenchmarkSummary(b *testing.B) {
	m := busyRecording(100_000)
	for b.Loop() {
		if err := m.Rewind(); err != nil {
			b.Fatal(err)
		}
		s := NewSummarizer(nil)
		t := New(m, s.Options(Filter{}))
		for {
			e, err := t.Next()
			if err != nil {
				break
			}
			s.Add(e)
		}
		_ = s.Summary()
	}
}
