package keys

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for _, row := range []struct {
		reason, text string
		want         []Press
	}{
		{"a blank", " ", []Press{{Name: Pause}}},
		{"arrows", "\x1b[D\x1b[C\x1b[A\x1bOB", []Press{
			{Name: Move, By: -10 * time.Second}, {Name: Move, By: 10 * time.Second}, {Name: Move, By: time.Minute}, {Name: Move, By: -time.Minute},
		}},
		{"a number", "120\r", []Press{{Name: Number, Number: 120}}},
		{"Enter without a number", "\r0\n", nil},
		{"speed", "+-", []Press{{Name: Faster}, {Name: Slower}}},
		{"ends: q, Ctrl-C, Ctrl-D", "q\x03\x04", []Press{{Name: Quit}, {Name: Quit}, {Name: Quit}}},
		{"others", "xyz\x1b[Z\x1b", nil},
		{"a step forward, and one back", ".,", []Press{{Name: Step, Number: 1}, {Name: Step, Number: -1}}},
		{"a number that is too long is cut", strings.Repeat("9", 100) + "\r", []Press{{Name: Number, Number: 999999999999999999}}},
	} {
		var p parser
		if diff := cmp.Diff(row.want, p.parse(row.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestRawWriter(t *testing.T) {
	var out bytes.Buffer
	if n, err := (RawWriter{&out}).Write([]byte("a\nb\n")); n != 4 || err != nil || out.String() != "a\r\nb\r\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
}
