package figures

import "testing"

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		reason string
		of     []int
		want   int
	}{
		{"one is its own middle", []int{7}, 7},
		{"order does not matter, nor does one that is far off", []int{9000, 1, 3}, 3},
		{"the upper of two in the middle", []int{4, 1, 2, 3}, 3},
	} {
		if got := Median(tt.of, func(n int) int { return n }); got != tt.want {
			t.Errorf("%s: the median of %v is %d, want %d", tt.reason, tt.of, got, tt.want)
		}
	}
}
