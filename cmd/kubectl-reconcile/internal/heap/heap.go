// Package heap says how far the heap may grow before garbage is collected. It imports little, so that it is initialised
// before most of what the program links: initialising that allocates 10 MB, nearly all of which stays, and collecting it
// three times on the way takes a quarter of the time from exec to main.
package heap

import (
	"os"
	"runtime/debug"
)

// Percentages for Grow.
const (
	// Reading is for commands that read a cluster once: of 22,000 objects they take 10 MB less than with twice as much,
	// and no more time that could be measured.
	Reading = 100
	// Running is for what runs controllers: a thousand pods take a fifth less time than with half as much, and an idle
	// sandbox 5 MB more.
	Running = 200
	// atFirst is in force until Grow is called.
	atFirst = 400
)

// free is false if the environment decides.
var free = begin()

func begin() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(atFirst)
	return true
}

// Grow lets the heap grow by so many percent of what was in use when it was last collected, unless the environment
// decides.
func Grow(percent int) {
	if free {
		debug.SetGCPercent(percent)
	}
}
