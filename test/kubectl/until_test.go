package kubectl

import (
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// until is the script command `until PATTERN PROGRAM ARGUMENT…`: it runs the program again and again until its stdout
// matches, for what an API server tells only a little later, such as the kinds of a definition.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARGUMENT…")
	}
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	for late := time.Now().Add(awaitTimeout); time.Now().Before(late); {
		err = ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("after %s stdout still has no match of %q: %v\n%s", awaitTimeout, args[0], err, ts.ReadFile("stdout"))
}
