package run

import (
	"testing"
)

func TestFillingText(t *testing.T) {
	for _, tt := range []struct {
		reason        string
		listed, total int64
		want          string
	}{
		{"before the first request", 0, 0, "filling caches"},
		{"then", 12, 41, "filling caches: 12 of 41 resources"},
	} {
		if got := fillingText(tt.listed, tt.total); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
