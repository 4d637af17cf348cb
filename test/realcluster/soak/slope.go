package main

import (
	"slices"
	"time"
)

// warmUp is the part of the samples, at the begin, that says nothing: caches fill.
const warmUp = 3 // a third

// trend is how a figure changes over a run.
type trend struct {
	middle float64 // its median after the warm-up
	growth float64 // by how much it would grow over the whole run, by the slope after the warm-up
}

// trendOf finds the trend of a figure over the samples, by the median of the slopes between all pairs: single peaks, as
// when kube-apiserver is away, do not count.
func trendOf(samples []sample, length time.Duration, of func(sample) float64) trend {
	kept := samples[len(samples)/warmUp:]
	var values, slopes []float64
	for i, a := range kept {
		values = append(values, of(a))
		for _, b := range kept[i+1:] {
			if b.at > a.at {
				slopes = append(slopes, (of(b)-of(a))/(b.at-a.at).Seconds())
			}
		}
	}
	return trend{middle: median(values), growth: median(slopes) * length.Seconds()}
}

// median is 0 of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// leaks reports whether the figure grows: by more than a tenth of itself over the run, and by more than what is noise.
func (t trend) leaks(noise float64) bool { return t.growth > noise && t.growth > t.middle/10 }
