package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// TestMoments seeks in a recording of few records, in memory and in a file.
func TestMoments(t *testing.T) {
	at := func(second int) time.Time { return start().Add(time.Duration(second) * time.Second) }
	stream := func(n int) *replay.Stream {
		return &replay.Stream{Number: n, Version: "v1", Kind: "Pod", Resource: "pods"}
	}
	records := []*replay.Record{
		0:     {Type: replay.TypeStream, Stream: 1, Time: at(0), NewStream: stream(1)},
		2 - 1: {Type: replay.TypeStream, Stream: 2, Time: at(0), NewStream: stream(2)},
		3 - 1: {Type: replay.TypeListBegin, Stream: 1, Time: at(1)},
		4 - 1: {Type: replay.TypeListItem, Stream: 1, Name: "a", ResourceVersion: "90", Time: at(1)},
		5 - 1: {Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "100", Time: at(1)},
		6 - 1: {Type: replay.TypeAlive, Time: at(2)},
		7 - 1: {Type: replay.TypeListEnd, Stream: 2, ResourceVersion: "101", Time: at(3)},
		8 - 1: {Type: replay.TypeBookmark, Stream: 2, ResourceVersion: "105", Time: at(4)},
		9 - 1: {Type: replay.TypeModified, Stream: 1, Name: "a", ResourceVersion: "104", Time: at(5)},
		// This stream has an etcd of its own, and lower versions.
		10 - 1: {Type: replay.TypeAdded, Stream: 2, Name: "b", ResourceVersion: "7", Time: at(5)},
		11 - 1: {Type: replay.TypeDeleted, Stream: 1, Name: "a", ResourceVersion: "110", Time: at(6)},
		12 - 1: {Type: replay.TypeBookmark, Stream: 1, ResourceVersion: "abc", Time: at(6)},
		13 - 1: {Type: replay.TypeEnd, Time: at(7)},
	}
	file, _ := write(t, records, replay.WriterOptions{}, 2)
	for _, test := range []struct {
		reason string
		moment replay.Moment
		want   int64 // number of the last record
		err    string
	}{
		{reason: "the end", want: 13},
		{reason: "all lists are complete", moment: replay.Moment{Start: true}, want: 7},
		{reason: "a number", moment: replay.Moment{Number: 4}, want: 4},
		{reason: "all records of a time", moment: replay.Moment{Time: at(1)}, want: 5},
		{reason: "the last record before a time", moment: replay.Moment{Time: at(4).Add(time.Millisecond)}, want: 8},
		{reason: "the version of a list", moment: replay.Moment{ResourceVersion: "100"}, want: 5},
		{reason: "the version of an item is older than the list", moment: replay.Moment{ResourceVersion: "90"}, want: 5},
		{reason: "the version of a bookmark", moment: replay.Moment{ResourceVersion: "105"}, want: 8},
		{reason: "a version that a newer one follows", moment: replay.Moment{ResourceVersion: "103"}, want: 8},
		{reason: "the version of a deletion", moment: replay.Moment{ResourceVersion: "110"}, want: 11},
		{reason: "a version that is no number", moment: replay.Moment{ResourceVersion: "abc"}, want: 12},
		{
			reason: "a version that is too new", moment: replay.Moment{ResourceVersion: "111"},
			err: `"111" is not in the recording, its newest resource version is 110`,
		},
		{
			reason: "before the first time", moment: replay.Moment{Time: at(-1)},
			err: `"2026-11-27T10:03:59Z" is not in the recording, which goes from 2026-11-27T10:04:00.000Z to 2026-11-27T10:04:07.000Z`,
		},
		{
			reason: "a number that is too high", moment: replay.Moment{Number: 14},
			err: `"#14" is not in the recording, its records are #1 to #13`,
		},
		{
			reason: "a number that is none", moment: replay.Moment{Number: -1},
			err: `"#-1" is not in the recording, its records are #1 to #13`,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			for name, r := range map[string]replay.Recording{
				"memory": memory(records), "file": open(t, file, replay.ReaderOptions{}),
			} {
				state, err := r.Seek(test.moment)
				if message := fmt.Sprint(err); err != nil || test.err != "" {
					if diff := cmp.Diff(test.err, message); diff != "" {
						t.Errorf("%s: error (-want +got):\n%s", name, diff)
					}
					continue
				}
				if state.Number != test.want {
					t.Errorf("%s: at record %d instead of %d", name, state.Number, test.want)
				}
				if next, err := r.Next(); err == nil && next.Number != test.want+1 {
					t.Errorf("%s: record %d follows", name, next.Number)
				}
			}
		})
	}
}

func TestMomentsOfAnEmptyRecording(t *testing.T) {
	var empty replay.Memory
	for moment, want := range map[replay.Moment]string{
		{}:                       "",
		{Start: true}:            "",
		{Number: 1}:              `"#1" is not in the recording, which is empty`,
		{Time: start()}:          `"2026-11-27T10:04:00Z" is not in the recording, which is empty`,
		{ResourceVersion: "100"}: `"100" is not in the recording, which is empty`,
	} {
		state, err := empty.Seek(moment)
		if err != nil && err.Error() != want || err == nil && (want != "" || state.Len() != 0) {
			t.Errorf("%s: %v", moment, err)
		}
	}
}

func TestStateClone(t *testing.T) {
	records := memory(random(5, 100))
	state, err := records.Seek(replay.Moment{Number: 50})
	if err != nil {
		t.Fatal(err)
	}
	before := flat(state)
	clone := state.Clone()
	for {
		r, err := records.Next()
		if err != nil {
			break
		}
		clone.Apply(r)
	}
	if diff := difference(before, flat(state)); diff != "" {
		t.Errorf("the state changed with its clone (-want +got):\n%s", diff)
	}
	end, err := records.Seek(replay.Moment{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(flat(end), flat(clone)); diff != "" {
		t.Errorf("the clone is another state (-want +got):\n%s", diff)
	}
	if clone.Stream(1) == state.Stream(1) || clone.Stream(99) != nil || clone.Object(replay.Key{}) != nil {
		t.Error("lookups are wrong")
	}
}
