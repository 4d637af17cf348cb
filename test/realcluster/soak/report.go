package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// report is what came of a soak.
type report struct {
	options

	mu               sync.Mutex
	changes, refused int
	killed           int
	away, back       int // notices

	before, after sample // nothing to do, before the load and after all is removed
	samples       []sample
	converged     convergence
	exit          int
}

// count adds what a client has done.
func (r *report) count(c *churn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes += c.changes
	r.refused += c.refused
}

// figure is one that must not grow.
type figure struct {
	name  string
	of    func(sample) float64
	unit  float64
	noise float64 // growth that says nothing, in its own unit
	// idle bounds how much more there may be after all is removed than there was before: what is kept on purpose, such
	// as the identities of Events that were recorded.
	idle float64
}

func figures() []figure {
	return []figure{
		{"goroutines", func(s sample) float64 { return s.goroutines }, 1, 40, 60},
		// client-go remembers up to 4096 Events in each of three caches for every controller that records some
		// (tools/record/events_cache.go); they fill over hours.
		{"heap after a collection, MiB", func(s sample) float64 { return s.heap }, mebi, 24 * mebi, 40 * mebi},
		{"resident, MiB", func(s sample) float64 { return s.resident }, mebi, 60 * mebi, 200 * mebi},
		{"open files", func(s sample) float64 { return s.files }, 1, 10, 10},
	}
}

// telling is how long a soak must be for its trends to tell anything: until then, clients make more than they remove.
const telling = 10 * time.Minute

// verdict is the error of a soak that has found something.
func (r *report) verdict() error {
	var errs []error
	for _, f := range figures() {
		if t := trendOf(r.samples, r.length, f.of); r.length >= telling && t.leaks(f.noise) {
			errs = append(errs, fmt.Errorf("%s: grow by %.1f over the run, of %.1f",
				f.name, t.growth/f.unit, t.middle/f.unit))
		}
		if more := f.of(r.after) - f.of(r.before); r.after.at > 0 && more > f.idle {
			errs = append(errs, fmt.Errorf("%s: %.1f more at the end than at the begin, with nothing left to do",
				f.name, more/f.unit))
		}
	}
	if r.killed < r.kills {
		errs = append(errs, fmt.Errorf("kube-apiserver was killed %d times, not %d", r.killed, r.kills))
	}
	if r.kills > 0 && (r.away < 1 || r.back != r.away) {
		errs = append(errs, fmt.Errorf("the plugin said %d times that the API server is away, "+
			"and %d times that it is back", r.away, r.back))
	}
	if r.exit != 0 {
		errs = append(errs, fmt.Errorf("the plugin ended with %d", r.exit))
	}
	return errors.Join(errs...)
}

// print writes the table.
func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "| soak of %s, %d clients, kube-apiserver killed %d times | |\n|---|---|\n",
		r.length, r.clients, r.killed)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(out, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	if r.length < telling {
		row("trends", "not judged: shorter than %s", telling)
	}
	row("changes by clients; without an answer or refused", "%d; %d", r.changes, r.refused)
	row("reconciles", "%.0f", r.after.reconciles)
	row("told that the API server is away; that it is back", "%d; %d", r.away, r.back)
	row("objects as they should, after the last change",
		"%d, after %s", r.converged.objects, r.converged.after.Round(time.Second))
	for _, f := range figures() {
		t := trendOf(r.samples, r.length, f.of)
		row(f.name+": at the begin, in the middle, after all was removed; growth over the run",
			"%.1f, %.1f, %.1f; %+.1f", f.of(r.before)/f.unit, t.middle/f.unit, f.of(r.after)/f.unit, t.growth/f.unit)
	}
}
