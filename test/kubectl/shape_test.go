package kubectl

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// placeholders stand in an expected output for what differs from run to run. Everything else is compared as it is.
var placeholders = map[string]string{
	"<age>":  `([0-9]+[smhd])+`,
	"<any>":  `.*`,
	"<hash>": `[0-9a-z]{8,10}`, // of a pod template
	"<id>":   `[0-9a-z]{5}`,    // what the API server appends to generateName
	"<ip>":   `[0-9]+(\.[0-9]+){3}`,
	"<n>":    `[0-9]+`,
	"<time>": `[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4}`,
	"<uid>":  `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
}

// token finds what an expected line is made of: placeholders with the blanks that align what follows, or one byte.
var token = regexp.MustCompile(`(<[a-z]+>)( *)`)

// shape is the script command `shape GOT WANT`: the file GOT (stdout and stderr are allowed) has the lines of WANT, but
// for the placeholders and the number of blanks after one, which depends on the length of what it replaces.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shape GOT WANT")
	}
	if err := compare(ts.ReadFile(args[0]), ts.ReadFile(args[1])); err != nil {
		ts.Fatalf("%s is not of the shape of %s: %v", args[0], args[1], err)
	}
}

// compare returns an error that names the first line of got that is not of the shape of its line of want.
func compare(got, want string) error {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range wantLines {
		if i >= len(gotLines) {
			return fmt.Errorf("line %d is missing:\n%s\ngot all of:\n%s", i+1, line, got)
		}
		if !lineShape(line).MatchString(gotLines[i]) {
			return fmt.Errorf("line %d:\ngot  %q\nwant %q\nall of it:\n%s", i+1, gotLines[i], line, got)
		}
	}
	if len(gotLines) > len(wantLines) {
		return fmt.Errorf("line %d is too many:\n%s\ngot all of:\n%s", len(wantLines)+1, gotLines[len(wantLines)], got)
	}
	return nil
}

// lineShape is the regular expression of all lines that have the shape of line.
func lineShape(line string) *regexp.Regexp {
	var b strings.Builder
	b.WriteByte('^')
	rest := 0
	for _, m := range token.FindAllStringSubmatchIndex(line, -1) {
		expr, known := placeholders[line[m[2]:m[3]]]
		if !known { // such as <none>
			continue
		}
		b.WriteString(regexp.QuoteMeta(line[rest:m[0]]) + expr)
		if m[4] < m[5] {
			b.WriteString(" +")
		}
		rest = m[1]
	}
	b.WriteString(regexp.QuoteMeta(line[rest:]) + "$")
	return regexp.MustCompile(b.String())
}

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		got, want, reason string
		differs           bool
	}{
		{got: "a\nb\n", want: "a\nb\n", reason: "equal text has the shape"},
		{got: "a\n", want: "a\nb\n", differs: true, reason: "a line that is missing is found"},
		{got: "a\nb\nc\n", want: "a\nb\n", differs: true, reason: "a line too many is found"},
		{got: "web  1/1", want: "web   1/1", differs: true, reason: "alignment is compared where nothing varies"},
		{got: "web-x2fnr   1/1   3m10s", want: "web-<id>   1/1   <age>", reason: "placeholders match what varies"},
		{got: "web-X2fnr   1/1", want: "web-<id>   1/1", differs: true, reason: "and nothing else"},
		{got: "10.0.0.1      80", want: "<ip>    80", reason: "blanks after a placeholder are as many as its length leaves"},
		{got: "10.0.0.180", want: "<ip> 80", differs: true, reason: "but some are needed"},
		{got: "a.b <none>", want: "a.b <none>", reason: "other angle brackets are text"},
		{got: "axb", want: "a.b", differs: true, reason: "what is special in a regular expression is text"},
		{got: "x 5s y", want: "x <age>", differs: true, reason: "the whole line is compared"},
	} {
		if err := compare(tc.got, tc.want); (err != nil) != tc.differs {
			t.Errorf("%s: compare(%q, %q) = %v", tc.reason, tc.got, tc.want, err)
		}
	}
}
