package heap

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// tellVariable makes the test binary, run anew, tell its percentage before and after Grow.
const tellVariable = "HEAP_TEST_TELL"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(runVariable) != "":
		runAndTell()
		return
	case os.Getenv(tellVariable) == "":
		m.Run()
		return
	}
	before := debug.SetGCPercent(50)
	debug.SetGCPercent(before)
	Grow(Reading)
	println(before, debug.SetGCPercent(50))
}

func TestGrow(t *testing.T) {
	for _, tt := range []struct{ reason, environment, want string }{
		{"much while packages are initialised, then as is asked for", "GOGC=", "400 100"},
		{"the environment decides", "GOGC=30", "30 30"},
		{"the environment turns it off", "GOGC=off", "-1 -1"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), tellVariable+"=1", tt.environment)
		said, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(said)) != tt.want {
			t.Errorf("%s: with %s it is %s, want %s; %v", tt.reason, tt.environment, said, tt.want, err)
		}
	}
}
