package replay

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestPagerCommand(t *testing.T) {
	for _, row := range []struct {
		reason string
		env    map[string]string
		want   string
	}{
		{"the usual one", nil, "less"},
		{"the user's", map[string]string{"PAGER": "more"}, "more"},
		{"the user's for this program", map[string]string{"PAGER": "more", "KUBECTL_RECONCILE_PAGER": "less -S"}, "less -S"},
		{"none", map[string]string{"PAGER": "cat"}, ""},
		{"a terminal that cannot do anything", map[string]string{"TERM": "dumb"}, ""},
	} {
		if got := pagerCommand(func(name string) string { return row.env[name] }); got != row.want {
			t.Errorf("%s: %q", row.reason, got)
		}
	}
}

func TestPager(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	const line = "some text\n"
	for _, row := range []struct {
		reason, command string
		height, lines   int
		want            string
		ended           bool // writes fail
	}{
		{"what fits on the screen is written as it is", "tr a-z A-Z", 10, 9, strings.Repeat(line, 9), false},
		{"longer text goes through the pager", "tr a-z A-Z", 10, 10, strings.ToUpper(strings.Repeat(line, 10)), false},
		{"no pager", "", 0, 20, strings.Repeat(line, 20), false},
		{"a pager that is not there: nothing can be read of it", "no-such-pager-xyz", 5, 20_000, "", true},
		{"a pager that the user ends", "head -n 1", 5, 50_000, line, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			streams := genericiooptions.IOStreams{Out: out, ErrOut: io.Discard}
			p := &paged{streams: streams, command: row.command, height: row.height, start: func(command string) (*exec.Cmd, io.WriteCloser, error) {
				return startPager(t.Context(), streams, command)
			}}
			for range row.lines {
				if _, err = p.Write([]byte(line)); err != nil {
					break
				}
			}
			if errors.Is(err, errPagerEnded) != row.ended {
				t.Errorf("error %v", err)
			}
			if err := p.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			got, err := os.ReadFile(out.Name())
			if err != nil || !bytes.Equal(got, []byte(row.want)) {
				t.Errorf("%v, %d bytes of output, want %d", err, len(got), len(row.want))
			}
		})
	}
}
