// Package heap says how far the heap may grow before garbage is collected. It imports little, so that it is initialised
// before most of what the program links: initialising that allocates 10 MB, nearly all of which stays, and collecting it
// three times on the way takes a quarter of the time from exec to main.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Percentages for Grow.
const (
	// Reading is for commands that read a cluster once: of 22,000 objects they take 10 MB less than with twice as much,
	// and no more time that could be measured.
	Reading = 100
	// Running is for what runs controllers: a thousand pods take a fifth less time than with half as much, and an idle
	// sandbox 5 MB more.
	Running = 200
	// initialPercent is in force until Grow is called.
	initialPercent = 400
)

// adjustable is false if the environment decides.
var adjustable = setInitialPercent()

func setInitialPercent() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(initialPercent)
	return true
}

// Grow lets the heap grow by so many percent of what was in use when it was last collected, unless the environment
// decides.
func Grow(percent int) {
	if adjustable {
		debug.SetGCPercent(percent)
	}
}

// maxGarbage is how many bytes of garbage there may be, where what is in use would allow more by Running, or less by least:
// a thousand pods take a fifth less time with Running than with 100 percent, but ten thousand would take 2 GB.
const (
	maxGarbage = 192 << 20
	minPercent = 50
)

// Run is for a process that runs controllers from here on: the heap grows as with Grow(Running) while little is in use,
// and less in proportion when much is; and Limit is in force. The environment may decide otherwise in both.
func Run() {
	Grow(Running)
	Limit()
	if adjustable {
		adjustAfterCollections(Running)
	}
}

// sentinel is garbage that tells when garbage is collected. It is larger than what the runtime allocates together.
type sentinel struct{ _ [32]byte }

// adjustAfterCollections sets the percentage anew after each collection. current is the one in force.
func adjustAfterCollections(current int) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		wanted := percentage(liveHeap())
		if difference := wanted - current; difference < -5 || difference > 5 {
			debug.SetGCPercent(wanted)
			current = wanted
		}
		adjustAfterCollections(current)
	})
}

// percentage is by how many percent a heap may grow of which so many bytes are in use.
func percentage(inUse uint64) int {
	if inUse == 0 {
		return Running
	}
	return int(min(max(maxGarbage*100/inUse, minPercent), Running))
}

// liveHeap is how many bytes were in use when garbage was last collected.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0 // a runtime that does not tell
	}
	return sample[0].Value.Uint64()
}
