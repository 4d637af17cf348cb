package render

// Detail says how much of a trace is shown.
type Detail int

// The details. Each shows all that the one before shows.
const (
	// Quiet shows no reconcile at all.
	Quiet Detail = iota
	// Normal shows causes, decisions, writes and outcomes.
	Normal
	// Verbose adds every line logged up to level 4, every read, and all names and fields.
	Verbose
	// Everything adds all that the controllers log.
	Everything
)

// LogLevel is the highest klog level that is shown.
func (d Detail) LogLevel() int {
	switch {
	case d >= Everything:
		return 10
	case d == Verbose:
		return 4
	}
	return 2
}
