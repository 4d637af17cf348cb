// Package figures holds what the benchmarks share to make figures of measurements. It measures and prints nothing.
package figures

import (
	"cmp"
	"slices"
)

// Median is the middle one of a value of several things, the upper of the middle two if their number is even. There
// must be at least one.
func Median[M any, T cmp.Ordered](of []M, value func(M) T) T {
	values := make([]T, 0, len(of))
	for _, m := range of {
		values = append(values, value(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
