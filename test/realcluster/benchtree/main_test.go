package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		reason, list string
		want         []int
	}{
		{"one", "22000", []int{22000}},
		{"rising", "5,20", []int{5, 20}},
		{"falling would need objects to be deleted", "20,5", nil},
		{"the same again would make none", "5,5", nil},
		{"no number", "5k", nil},
		{"nothing", "", nil},
		{"less than nothing", "-5", nil},
	} {
		var o options
		err := o.setSizes(tt.list)
		if (err == nil) != (tt.want != nil) || err == nil && !slices.Equal(o.sizes, tt.want) {
			t.Errorf("%s: %q is %v, %v; want %v", tt.reason, tt.list, o.sizes, err, tt.want)
		}
	}
}

func TestNothingToMeasure(t *testing.T) {
	if err := run(t.Context(), []string{"-rounds", "0"}, io.Discard, io.Discard); err == nil {
		t.Error("no rounds are measured without an error")
	}
}

func TestOf(t *testing.T) {
	q := question{asks: []command{{program: plugin}, {program: lineage}, {program: kubectl}}}
	for _, tt := range []struct {
		reason   string
		programs map[string]string
		peers    bool
		want     int
	}{
		{"all that there are", map[string]string{plugin: "a", lineage: "b", kubectl: "c"}, true, 3},
		{"a peer that could not be built", map[string]string{plugin: "a", kubectl: "c"}, true, 2},
		{"too many objects for peers", map[string]string{plugin: "a", lineage: "b", kubectl: "c"}, false, 1},
	} {
		if got := q.of(tt.programs, tt.peers); len(got.asks) != tt.want || got.asks[0].program != plugin {
			t.Errorf("%s: %v", tt.reason, got.asks)
		}
	}
	if len(q.asks) != 3 {
		t.Error("leaving commands out has changed the question")
	}
}

func TestRow(t *testing.T) {
	var out strings.Builder
	took := taken{Wall: 184 * time.Millisecond, CPU: 2 * time.Second, Peak: 72_999_999}
	row(&out, 22000, "a question", "a program", took, traffic{12, 3_456_789})
	if want := "| a question | 22000 | a program | 0.18 s | 2.00 s | 72 MB | 12 | 3.46 MB |\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
