//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// describe returns how what is shown differs from what was printed, or "".
func describe(want, got []string) string {
	d := differs(want, got)
	if d == "" {
		return ""
	}
	return fmt.Sprintf("%s\nshown is\n\t%s\nprinted was\n\t%s", d, strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
}

// differs compares what is shown with what was printed, both without what varies and without empty lines, and returns
// the first difference, or "". In what is shown, a line … stands for any number of lines, and … in a line for any text.
func differs(want, got []string) string {
	want, got = steadyLines(want), steadyLines(got)
	// reach[j] reports whether the lines of want before i can stand for the first j lines of got.
	reach := make([]bool, len(got)+1)
	reach[0] = true
	for _, line := range want {
		next, possible := make([]bool, len(got)+1), false
		for j := range next {
			if line == "…" {
				next[j] = reach[j] || j > 0 && next[j-1]
			} else {
				next[j] = j > 0 && reach[j-1] && standsFor(line, got[j-1])
			}
			possible = possible || next[j]
		}
		if !possible {
			return "not printed: " + line
		}
		reach = next
	}
	if !reach[len(got)] {
		return "more is printed than is shown"
	}
	return ""
}

func standsFor(line, printed string) bool {
	parts := strings.Split(line, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `.*`) + `$`).MatchString(printed)
}

// varies are the parts of an output that differ from run to run, and what stands for them.
var varies = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[0-9.]*( UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d( UTC)?`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`https://[0-9.]+:\d+ \(context "[^"]*"\)`), "CLUSTER"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`/tmp/\S+/`), "FOLDER/"},
	{regexp.MustCompile(`\+?\b(\d+(\.\d+)?(ns|µs|ms|s|m|h|d))+(-(\d+(\.\d+)?(s|m|h|d))+)?\b`), "DURATION"},
	{regexp.MustCompile(`-[bcdf-hj-np-tv-z2-9]{6,10}-[bcdf-hj-np-tv-z2-9]{5}\b`), "-HASH-RANDOM"},
	{regexp.MustCompile(`-[bcdf-hj-np-tv-z0-9]{8,10}\b`), "-HASH"},
	{regexp.MustCompile(`(RANDOM|,) -[bcdf-hj-np-tv-z2-9]{5}\b`), "$1 -RANDOM"},
	{regexp.MustCompile(`\(\d+ times, `), "("},
	{regexp.MustCompile(`\b\d+ times\b`), "N times"},
	{regexp.MustCompile(`#\d+`), "#N"},
	{regexp.MustCompile(`\bv\d+\b`), "vN"},
	{regexp.MustCompile(`\brecord \d+ of \d+`), "record N of N"},
	{regexp.MustCompile(`\b\d+ objects\b( of \d+ kinds\b)?`), "N objects"},
	{regexp.MustCompile(`\b\d+ reconciles wrote nothing( \([^)]*\))?`), "N reconciles wrote nothing"},
	{regexp.MustCompile(`\b[0-9.]+ [KM]iB\b`), "SIZE"},
	{regexp.MustCompile(`\s+`), " "},
}

// steady returns a line without what varies, and with a blank between words.
func steady(line string) string {
	for _, v := range varies {
		line = v.part.ReplaceAllString(line, v.as)
	}
	return strings.TrimSpace(line)
}

func steadyLines(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = steady(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func TestDiffers(t *testing.T) {
	for _, tt := range []struct {
		reason, want, got string
		differ            bool
	}{
		{"the same", "a\nb", "a\nb", false},
		{"times, names and widths differ", "pod/web-689b9bdbdd-g294v  1/1   3s", "pod/web-58c79bf67-4x2b9   1/1  1m2s", false},
		{"numbers that count do not", "web  2/3", "web  3/3", true},
		{"an empty line more", "a\n\nb", "a\nb", false},
		{"lines left out", "a\n…\nd", "a\nb\nc\nd", false},
		{"none left out", "a\n…\nb", "a\nb", false},
		{"the same line twice", "…\na\nb", "a\nc\na\nb", false},
		{"text left out", "a … d", "a b c d", false},
		{"a line is not printed", "a\nb", "a", true},
		{"more is printed", "a", "a\nb", true},
		{"in another order", "a\n…\nb", "b\na", true},
	} {
		if d := differs(strings.Split(tt.want, "\n"), strings.Split(tt.got, "\n")); (d != "") != tt.differ {
			t.Errorf("%s: %q", tt.reason, d)
		}
	}
}
