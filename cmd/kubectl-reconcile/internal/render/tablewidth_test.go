package render

import (
	"bytes"
	"strings"
	"testing"
)

// TestTableWidth: what is foretold is how wide the table is.
func TestTableWidth(t *testing.T) {
	header := []string{"CONTROLLER", "FAILED", "P50"}
	rows := [][]string{{"job", "0", "1.25ms"}, {"horizontalpodautoscaling", "\x1b[31m12\x1b[0m", "321µs"}}
	var out bytes.Buffer
	if err := Table(&out, header, rows); err != nil {
		t.Fatal(err)
	}
	widest := 0
	for line := range strings.Lines(out.String()) {
		widest = max(widest, cells(strings.TrimRight(line, "\n")))
	}
	if got := tableWidth(header, rows); got != widest {
		t.Errorf("a table of %d cells is foretold to have %d:\n%s", widest, got, out.String())
	}
}

func TestFitColumn(t *testing.T) {
	table := func() ([]string, [][]string) {
		return []string{"OBJECT", "MESSAGE"}, [][]string{{"pod/a", "Pod is Ready"}, {"pod/b", "ReplicaSet is available. Replicas: 3"}}
	}
	for _, tt := range []struct {
		reason string
		width  int
		want   string // of the longer message
	}{
		{"no terminal", 0, "ReplicaSet is available. Replicas: 3"},
		{"enough room", 45, "ReplicaSet is available. Replicas: 3"},
		{"a cell too little", 44, "ReplicaSet is available. Replicas:…"},
		{"next to no room", 10, "ReplicaSet is avail…"},
	} {
		header, rows := table()
		fitColumn(1, header, rows, tt.width)
		if got := rows[1][1]; got != tt.want || rows[0][1] != "Pod is Ready" {
			t.Errorf("%s: %q and %q, want %q and the other as it is", tt.reason, got, rows[0][1], tt.want)
		}
	}
}
