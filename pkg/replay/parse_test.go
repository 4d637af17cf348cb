package replay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

func TestParseMoment(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	day := replay.Info{Records: 200, First: at("2026-11-27T10:04:00.5Z"), Last: at("2026-11-27T10:20:00.25Z")}
	night := replay.Info{Records: 200, First: at("2026-11-27T23:50:00Z"), Last: at("2026-11-29T01:00:00Z")}
	numbered := replay.Info{Records: 7}
	for _, test := range []struct {
		reason string
		text   string
		info   replay.Info
		want   replay.Moment
		err    string
	}{
		{reason: "the end", text: "end", info: day},
		{reason: "the start", text: "start", info: day, want: replay.Moment{Start: true}},
		{reason: "the first record", text: "#1", info: day, want: replay.Moment{Number: 1}},
		{reason: "the last record", text: "#200", info: day, want: replay.Moment{Number: 200}},
		{
			reason: "one record too far", text: "#201", info: day,
			err: `"#201" is not in the recording, its records are #1 to #200`,
		},
		{
			reason: "records count from 1", text: "#0", info: numbered,
			err: `parsing the moment "#0": # must be followed by the number of a record; the recording has #1 to #7 and no times`,
		},
		{reason: "digits are a resource version", text: "48123", info: day, want: replay.Moment{ResourceVersion: "48123"}},
		{
			reason: "an exact time", text: "2026-11-27T10:05:00.123456Z", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:05:00.123456Z")},
		},
		{
			reason: "a time in another zone", text: "2026-11-27T11:05:00.000001+01:00", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:05:00.000001Z")},
		},
		{
			reason: "a second includes all of it", text: "2026-11-27 10:05:00", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:05:00.999999Z")},
		},
		{
			reason: "so does a millisecond", text: "10:05:00.123", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:05:00.123999Z")},
		},
		{
			reason: "so does a minute", text: "10:05", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:05:59.999999Z")},
		},
		{
			reason: "the second of the first record", text: "10:04:00", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:04:00.999999Z")},
		},
		{
			reason: "the second of the last record", text: "10:20:00", info: day,
			want: replay.Moment{Time: at("2026-11-27T10:20:00.25Z")},
		},
		{
			reason: "before the first record", text: "10:03:59", info: day,
			err: `"2026-11-27T10:03:59.999999Z" is not in the recording, which goes from 2026-11-27T10:04:00.500Z ` +
				`to 2026-11-27T10:20:00.250Z`,
		},
		{
			reason: "after the last record", text: "10:20:01", info: day,
			err: `"2026-11-27T10:20:01Z" is not in the recording, which goes from 2026-11-27T10:04:00.500Z ` +
				`to 2026-11-27T10:20:00.250Z`,
		},
		{
			reason: "a time of day that only the next day has", text: "00:30:00.000000", info: night,
			want: replay.Moment{Time: at("2026-11-28T00:30:00Z")},
		},
		{
			reason: "a time of day that both days have is on the first", text: "23:55:00.000000", info: night,
			want: replay.Moment{Time: at("2026-11-27T23:55:00Z")},
		},
		{reason: "after the first record", text: "+90s", info: day, want: replay.Moment{Time: at("2026-11-27T10:05:30.5Z")}},
		{reason: "before the last record", text: "-2m", info: day, want: replay.Moment{Time: at("2026-11-27T10:18:00.25Z")}},
		{reason: "the last record itself", text: "-0s", info: day, want: replay.Moment{Time: day.Last}},
		{
			reason: "longer than the recording", text: "+1h", info: day,
			err: `"2026-11-27T11:04:00.5Z" is not in the recording, which goes from 2026-11-27T10:04:00.500Z ` +
				`to 2026-11-27T10:20:00.250Z`,
		},
		{
			reason: "a stream without times has no time", text: "10:05:00", info: numbered,
			err: `parsing the moment "10:05:00": there are no times: use #n, the number of a record; ` +
				`the recording has #1 to #7 and no times`,
		},
		{
			reason: "nor a duration", text: "+5s", info: numbered,
			err: `parsing the moment "+5s": there are no times: use #n, the number of a record; ` +
				`the recording has #1 to #7 and no times`,
		},
		{
			reason: "none of the forms", text: "yesterday", info: day,
			err: `parsing the moment "yesterday": it must be start, end, #n, a resource version, a time (10:04:05, ` +
				`2006-01-02 10:04:05 or RFC 3339, in UTC), +90s after the first record, or -2m before the last; ` +
				`the recording has #1 to #200, 2026-11-27T10:04:00.500Z to 2026-11-27T10:20:00.250Z`,
		},
		{
			reason: "none of the forms, and no times", text: "", info: replay.Info{},
			err: `parsing the moment "": it must be start, end, #n or a resource version; the recording has no records`,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got, err := replay.ParseMoment(test.text, test.info)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(test.err, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("moment (-want +got):\n%s", diff)
			}
		})
	}
}
