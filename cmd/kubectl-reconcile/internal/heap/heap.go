// Package heap sets how far the heap may grow before garbage is collected (heap.go), and the memory limit of the
// runtime (limit.go). GOGC and GOMEMLIMIT in the environment take precedence.
//
// It imports little, so that it is initialised before most packages that the program links: initialising those
// allocates 10 MB, nearly all of which stays in use, and collecting that three times on the way would take a quarter
// of the time from exec to main.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Percentages for Grow, as of GOGC.
const (
	// Reading is for commands that read a cluster once: with 22,000 objects they take 10 MB less than with 200
	// percent, and no measurably longer.
	Reading = 100
	// Running is for running controllers: a thousand pods take a fifth less time than with 100 percent, and an idle
	// sandbox 5 MB more.
	Running = 200
	// Planning is for a plan in a copy of a cluster: what an apply of a Deployment in 2,300 objects changes takes 90 MB
	// less than with 150 percent, and not measurably longer.
	Planning = 70
	// initialPercent is in force until Grow is called: nearly all that is allocated before stays in use.
	initialPercent = 400
)

// adjustable is false if GOGC is set. It is initialised before the packages that are initialised after this one, by
// which initialPercent is in force for them.
var adjustable = setInitialPercent()

// setInitialPercent returns false, and sets nothing, if GOGC is set.
func setInitialPercent() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(initialPercent)
	return true
}

// Grow lets the heap grow by so many percent of what was in use after the last collection, unless GOGC is set.
func Grow(percent int) {
	if adjustable {
		debug.SetGCPercent(percent)
	}
}

// maxGarbage bounds the garbage, in bytes, that Running would allow of a large heap, down to minPercent of it: with
// Running alone, ten thousand pods would take 2 GB.
const (
	maxGarbage = 192 << 20
	minPercent = 50
)

// Run is for a process that runs controllers from now on: the heap grows as by Grow(percent), which is Running or
// Planning, while little is in use, and less in proportion when much is, and the limit of Limit is set.
func Run(percent int) {
	Grow(percent)
	Limit()
	if adjustable {
		adjustAfterCollections(percent, percent)
	}
}

// sentinel is garbage whose finalizer runs after each collection. It is larger than the objects that the runtime
// allocates in one block, whose finalizers might not run.
type sentinel struct{ _ [32]byte }

// adjustAfterCollections sets the percentage again after each collection, to most or less. current is the one in force.
func adjustAfterCollections(most, current int) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		wanted := percentage(liveHeap(), most)
		if difference := wanted - current; difference < -5 || difference > 5 {
			debug.SetGCPercent(wanted)
			current = wanted
		}
		adjustAfterCollections(most, current)
	})
}

// percentage returns by how many percent a heap may grow of which inUse bytes are in use, at most by most; 0 is
// unknown.
func percentage(inUse uint64, most int) int {
	if inUse == 0 {
		return most
	}
	return int(min(max(maxGarbage*100/inUse, minPercent), uint64(most))) //nolint:gosec // a percentage
}

// liveHeap returns how many bytes were in use after the last collection; 0 if that is not known.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0 // a runtime without this metric
	}
	return sample[0].Value.Uint64()
}
