package playback

import (
	"testing"
	"time"
)

func TestMoveTimes(t *testing.T) {
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
		if got := string(MoveTimes([]byte(test.in), time.Hour+time.Second)); got != test.want {
			t.Errorf("%s\n got %s\nwant %s: %s", test.in, got, test.want, test.reason)
		}
	}
}

func FuzzMoveTimes(f *testing.F) {
	f.Add([]byte(`{"startTime":"2026-01-01T10:00:00Z","data":{"a":["}"]},"x":"\\"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		moved := MoveTimes(data, time.Hour)
		if back := MoveTimes(moved, -time.Hour); len(moved) == len(data) && len(back) != len(data) {
			t.Errorf("%q became %q", data, back)
		}
	})
}
