package snapshot

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRetimeNamed(t *testing.T) {
	for _, test := range []struct{ in, want, reason string }{
		{`{"metadata":{"creationTimestamp":"2026-01-01T10:00:00Z"}}`, `{"metadata":{"creationTimestamp":"2026-01-01T11:00:01Z"}}`,
			"the time of every object"},
		{`{"renewTime":"2026-01-01T10:00:00.123456Z"}`, `{"renewTime":"2026-01-01T11:00:01.123456Z"}`,
			"a MicroTime keeps its digits"},
		{`{"startedAt" : "2026-01-01T10:00:00+02:00"}`, `{"startedAt" : "2026-01-01T11:00:01+02:00"}`,
			"another zone, and spaces"},
		{`{"managedFields":[{"time":"2026-01-01T10:00:00Z","fieldsV1":{"f:time":{}}}]}`,
			`{"managedFields":[{"time":"2026-01-01T11:00:01Z","fieldsV1":{"f:time":{}}}]}`, "when a manager has written"},
		{`{"spec":{"renewAt":"2026-01-01T10:00:00Z","n":12345678901234567890}}`,
			`{"spec":{"renewAt":"2026-01-01T11:00:01Z","n":12345678901234567890}}`, "custom resources; numbers keep their digits"},
		{`{"lastProbeTime":null,"times":["2026-01-01T10:00:00Z"]}`, `{"lastProbeTime":null,"times":["2026-01-01T10:00:00Z"]}`,
			"no time, and a field of another name"},
		{`{"startTime":"soon"}`, `{"startTime":"soon"}`, "a text that is no time"},
		{`{"metadata":{"annotations":{"restartedAt":"2026-01-01T10:00:00Z","b":"}"}},"endTime":"2026-01-01T10:00:00Z"}`,
			`{"metadata":{"annotations":{"restartedAt":"2026-01-01T10:00:00Z","b":"}"}},"endTime":"2026-01-01T11:00:01Z"}`,
			"annotations are chosen by people, what follows them is not"},
		{`{"data":{"startTime":"2026-01-01T10:00:00Z"}}`, `{"data":{"startTime":"2026-01-01T10:00:00Z"}}`, "as are data"},
		{`{"message":"\"startTime\":\"2026-01-01T10:00:00Z\""}`, `{"message":"\"startTime\":\"2026-01-01T10:00:00Z\""}`,
			"JSON in a text"},
		{`{"startTime":"2026-01-01T10:0`, `{"startTime":"2026-01-01T10:0`, "a text that does not end"},
		{`{"data":{"a`, `{"data":{"a`, "an object that does not end"},
		{``, ``, "nothing"},
	} {
		if got := string(Retime([]byte(test.in), NamedTimes, Later(time.Hour+time.Second))); got != test.want {
			t.Errorf("%s\n got %s\nwant %s: %s", test.in, got, test.want, test.reason)
		}
	}
}

func TestRetimeWritten(t *testing.T) {
	for _, test := range []struct{ in, want, reason string }{
		{`{"metadata":{"name":"a","creationTimestamp":"2026-01-01T10:00:00Z","deletionTimestamp":"2026-01-01T10:00:01Z"}}`,
			`{"metadata":{"name":"a","creationTimestamp":"2026-01-01T11:00:01Z","deletionTimestamp":"2026-01-01T11:00:02Z"}}`,
			"the times of every object"},
		{`{"metadata":{"managedFields":[{"time":"2026-01-01T10:00:00Z"}],"annotations":{"at":"2026-01-01T10:00:00Z"}}}`,
			`{"metadata":{"managedFields":[{"time":"2026-01-01T10:00:00Z"}],"annotations":{"at":"2026-01-01T10:00:00Z"}}}`,
			"other metadata stays"},
		{`{"status":{"next":"2026-01-01T10:00:00Z","list":[{"labels":{"x":"2026-01-01T10:00:00.50Z"}}],"message":"at 2026"}}`,
			`{"status":{"next":"2026-01-01T11:00:01Z","list":[{"labels":{"x":"2026-01-01T11:00:01.50Z"}}],"message":"at 2026"}}`,
			"all times of a status, under any name"},
		{`{"spec":{"startTime":"2026-01-01T10:00:00Z","template":{"status":{"at":"2026-01-01T10:00:00Z"}}}}`,
			`{"spec":{"startTime":"2026-01-01T10:00:00Z","template":{"status":{"at":"2026-01-01T10:00:00Z"}}}}`, "a spec stays"},
		{`{"spec":{"renewTime":"2026-01-01T10:00:00.123456Z","taints":[{"timeAdded":"2026-01-01T10:00:00Z"}],"a":"2026-01-01T10:00:00Z"}}`,
			`{"spec":{"renewTime":"2026-01-01T11:00:01.123456Z","taints":[{"timeAdded":"2026-01-01T11:00:01Z"}],"a":"2026-01-01T10:00:00Z"}}`,
			"but for what controllers write in it"},
		{`{"eventTime":"2026-01-01T10:00:00Z","series":{"lastObservedTime":"2026-01-01T10:00:00Z"},"note":"2026-01-01T10:00:00Z"}`,
			`{"eventTime":"2026-01-01T11:00:01Z","series":{"lastObservedTime":"2026-01-01T11:00:01Z"},"note":"2026-01-01T10:00:00Z"}`, "an Event"},
		{`{"metadata":{"creationTimestamp":null,"name":"a"},"status":{"at":"2026-01-01T10:00:00Z"}}`,
			`{"metadata":{"name":"a"},"status":{"at":"2026-01-01T11:00:01Z"}}`, "null is left out"},
		{`{"metadata":{"name":"a" , "creationTimestamp" : null}}`, `{"metadata":{"name":"a" }}`, "also the last member"},
		{`{"metadata":{"creationTimestamp":null,"deletionTimestamp":null}}`, `{"metadata":{}}`, "and all members"},
		{`{"metadata":{"name":"a","creationTimestamp":null,"deletionTimestamp":null},"spec":{"renewTime":null}}`,
			`{"metadata":{"name":"a"},"spec":{"renewTime":null}}`, "and two after another; null stays elsewhere"},
		{`{"metadata":"2026-01-01T10:00:00Z","spec":"2026-01-01T10:00:00Z"}`,
			`{"metadata":"2026-01-01T10:00:00Z","spec":"2026-01-01T10:00:00Z"}`, "what is no object"},
		{`null`, `null`, "no object at all"},
		{`{"status":{"a`, `{"status":{"a`, "an object that does not end"},
	} {
		if got := string(Retime([]byte(test.in), WrittenTimes, Later(time.Hour+time.Second))); got != test.want {
			t.Errorf("%s\n got %s\nwant %s: %s", test.in, got, test.want, test.reason)
		}
	}
}

func TestRetimeFields(t *testing.T) {
	fields := map[string]any{"status": map[string]any{"n": int64(1234567890123456789), "startTime": "2026-01-01T10:00:00Z"}}
	for _, times := range []Times{NamedTimes, WrittenTimes} {
		got, err := RetimeFields(fields, times, Later(time.Hour))
		want := map[string]any{"status": map[string]any{"n": int64(1234567890123456789), "startTime": "2026-01-01T11:00:00Z"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if _, err := RetimeFields(map[string]any{"a": func() {}}, NamedTimes, Later(0)); err == nil {
		t.Error("what is not JSON must be an error")
	}
}

// FuzzRetime: what is JSON stays so, and comes back when its times are moved back.
func FuzzRetime(f *testing.F) {
	f.Add([]byte(`{"startTime":"2026-01-01T10:00:00Z","data":{"a":["}"]},"x":"\\"}`))
	f.Add([]byte(`{"metadata":{"creationTimestamp":null,"a":1,"deletionTimestamp":null},"status":["2026-01-01T10:00:00Z"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, times := range []Times{NamedTimes, WrittenTimes} {
			moved := Retime(data, times, Later(time.Hour))
			if json.Valid(data) && !json.Valid(moved) {
				t.Errorf("%q became %q", data, moved)
			}
			if back := Retime(moved, times, Later(-time.Hour)); len(moved) == len(data) && len(back) != len(data) {
				t.Errorf("%q became %q", data, back)
			}
		}
	})
}
