package apijson

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEventReader(t *testing.T) {
	const one = `{"type":"ADDED","object":{"kind":"A","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}}`
	for _, row := range []struct {
		reason, in string
		want       []string // type, name and version of each event
		fails      string
	}{
		{"a line each", one + "\n" + one + "\n", []string{"ADDED a 7", "ADDED a 7"}, ""},
		{"no end of the last line", one, []string{"ADDED a 7"}, ""},
		{"many lines, blank ones too", "\n" + strings.NewReplacer("{", "{\n", ",", ",\n\n").Replace(one) + "\n\n", []string{"ADDED a 7"}, ""},
		{"the object first", `{"object":{"metadata":{"name":"a"}},"type":"DELETED","more":1}`, []string{"DELETED a "}, ""},
		{"cut off", one + "\n" + one[:50], []string{"ADDED a 7"}, io.ErrUnexpectedEOF.Error()},
		{"cut off at the end of a line", one[:26] + "\n", nil, io.ErrUnexpectedEOF.Error()},
		{"no JSON", "<html>\n", nil, "not JSON at byte 0"},
		{"two in a line", one + one + "\n", nil, "not JSON at byte"},
		{"no event", "{}\n", nil, "no watch event"},
		{"an object of another type", `{"type":"ADDED","object":[]}` + "\n", nil, "no watch event"},
		{"a type of another type", `{"type":7}` + "\n", nil, "not JSON"},
	} {
		r := NewEventReader(strings.NewReader(row.in))
		var got []string
		var err error
		for {
			var e *Event
			if e, err = r.Next(); err != nil {
				break
			}
			got = append(got, e.Type+" "+e.Name+" "+e.ResourceVersion)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
		switch {
		case row.fails == "" && !errors.Is(err, io.EOF):
			t.Errorf("%s: got %v", row.reason, err)
		case row.fails != "" && !strings.Contains(err.Error(), row.fails):
			t.Errorf("%s: got %v, want %s", row.reason, err, row.fails)
		}
	}
}

// endless is a line without an end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestEventTooLarge(t *testing.T) {
	if _, err := NewEventReader(endless{}).Next(); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

func TestReadPage(t *testing.T) {
	const item = `{"metadata":{"name":"a","resourceVersion":"3"}}`
	for _, row := range []struct {
		reason, in, version, more string
		items                     int
		fails                     bool
	}{
		{"a page", `{"kind":"List","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3},"items":[` + item + `, ` + item + `]}`, "7", "c", 2, false},
		{"no items", `{"metadata":{"resourceVersion":"7"},"items":null}`, "7", "", 0, false},
		{"no version", `{"metadata":{},"items":[]}`, "", "", 0, true},
		{"cut off", `{"metadata":{"resourceVersion":"7"},"items":[` + item, "7", "", 1, true},
		{"items of other types", `{"metadata":{"resourceVersion":"7"},"items":["a"]}`, "7", "", 1, true},
		{"no list", `[]`, "", "", 0, true},
	} {
		got, err := ReadPage([]byte(row.in))
		if (err != nil) != row.fails {
			t.Errorf("%s: got %v", row.reason, err)
		}
		if err == nil && (got.Version != row.version || got.Continue != row.more || len(got.Items) != row.items) {
			t.Errorf("%s: got %+v", row.reason, got)
		}
		if err == nil && len(got.Items) > 0 && string(got.Items[0].JSON) != item {
			t.Errorf("%s: the item is %s", row.reason, got.Items[0].JSON)
		}
	}
}

// FuzzEventReader: whatever arrives, reading ends with an error and what is returned is an event.
func FuzzEventReader(f *testing.F) {
	f.Add(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n")
	f.Add(`{"type":` + "\n" + `"ADDED","object":{}}`)
	f.Fuzz(func(t *testing.T, in string) {
		r := NewEventReader(strings.NewReader(in))
		for range len(in) + 1 {
			e, err := r.Next()
			if err != nil {
				return
			}
			if e.Type == "" || len(e.JSON) == 0 || e.JSON[0] != '{' {
				t.Errorf("an event is %q %q", e.Type, e.JSON)
			}
		}
		t.Error("there are more events than bytes")
	})
}
