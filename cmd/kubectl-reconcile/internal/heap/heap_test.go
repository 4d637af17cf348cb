package heap

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// printVariable makes the test binary print its percentage before and after Grow.
const printVariable = "HEAP_TEST_PRINT"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(runVariable) != "":
		runAndPrint()
		return
	case os.Getenv(printVariable) == "":
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
		{"much while packages are initialised, then that of Grow", "GOGC=", "400 100"},
		{"the environment decides", "GOGC=30", "30 30"},
		{"the environment turns it off", "GOGC=off", "-1 -1"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), printVariable+"=1", tt.environment)
		printed, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(printed)) != tt.want {
			t.Errorf("%s: with %s it is %s, want %s; %v", tt.reason, tt.environment, printed, tt.want, err)
		}
	}
}

func TestPercentage(t *testing.T) {
	for _, tt := range []struct {
		reason string
		inUse  uint64
		want   int
	}{
		{"a runtime without the metric", 0, Running},
		{"an idle sandbox", 40 << 20, Running},
		{"as much garbage as may be", 96 << 20, 200},
		{"and no more when more is in use", 192 << 20, 100},
		{"some thousand pods", 320 << 20, 60},
		{"the collector must not take all the time", 4 << 30, minPercent},
	} {
		if got := percentage(tt.inUse, Running); got != tt.want {
			t.Errorf("%s: %d percent of %d bytes, want %d", tt.reason, got, tt.inUse, tt.want)
		}
	}
}

// runVariable makes the test binary print its percentage after Run, when much is in use, and when that is not any more.
const runVariable = "HEAP_TEST_RUN"

// inForce is the percentage of the runtime.
func inForce() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// collected runs the garbage collector until a percentage is in force, or some times, and returns the one in force.
func collected(want uint64) uint64 {
	tries := 400
	if os.Getenv("GOGC") != "" {
		tries = 4 // it must not change
	}
	for range tries {
		runtime.GC()
		if inForce() == want {
			break
		}
		<-time.After(5 * time.Millisecond) // finalizers run by themselves
	}
	return inForce()
}

func runAndPrint() {
	Run(Running)
	println(inForce(), withMuch(), collected(Running))
}

// withMuch returns the percentage in force while much is in use.
func withMuch() uint64 {
	much := make([]byte, 512<<20) // no page of it is touched
	defer runtime.KeepAlive(&much)
	return collected(minPercent)
}

func TestRun(t *testing.T) {
	for _, tt := range []struct{ reason, environment, want string }{
		{"less may be garbage while much is in use", "GOGC=", "200 50 200"},
		{"the environment decides", "GOGC=70", "70 70 70"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), runVariable+"=1", "GOMEMLIMIT=4GiB", tt.environment)
		printed, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(printed)) != tt.want {
			t.Errorf("%s: with %s it is %s, want %s; %v", tt.reason, tt.environment, printed, tt.want, err)
		}
	}
}
