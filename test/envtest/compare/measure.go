package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// watchMemory measures how much memory the programs of control planes take together, at most, that are children of a
// process. The function that it returns ends that, and returns the bytes; 0 where there is no /proc.
func watchMemory(parent int) func() int64 {
	var most int64
	var watching sync.WaitGroup
	done := make(chan struct{})
	watching.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				most = max(most, memory(parent))
			}
		}
	})
	return func() int64 {
		close(done)
		watching.Wait()
		return most
	}
}

// memory returns how much memory the control planes take now that are children of a process: of pages that several
// processes share, such as those of a program, each has its part.
func memory(parent int) int64 {
	var sum int64
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		of := fields(filepath.Join(dir, "status"))
		if name := of["Name"]; name != "kube-apiserver" && name != "etcd" || of["PPid"] != strconv.Itoa(parent) {
			continue
		}
		part := fields(filepath.Join(dir, "smaps_rollup"))["Pss"]
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(part, " kB"), 10, 64)
		sum += kilobytes << 10
	}
	return sum
}

// fields returns the fields of a file of /proc; none if the process has ended.
func fields(path string) map[string]string {
	text, err := os.ReadFile(path) //nolint:gosec // G304: of /proc
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		out[key] = strings.TrimSpace(value)
	}
	return out
}

// endLeftovers ends the control planes that tests have left behind: two of controller-runtime's suites do. They would
// share pages with later ones, whose memory would seem to be less.
func endLeftovers(mark string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		environment, err := os.ReadFile(file) //nolint:gosec // G304: of /proc
		if err != nil || !slices.Contains(strings.Split(string(environment), "\x00"), mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

// started is what starting a control plane took.
type started struct {
	start, stop time.Duration
	memory      int64
}

// printStarts starts each control plane several times by turns, with envtest's own code, and prints the medians.
func printStarts(planes []controlPlane, times int) error {
	log.SetLogger(logr.Discard()) // else it complains
	all := make([][]started, len(planes))
	for range times {
		for i, p := range planes {
			s, err := startOnce(p)
			if err != nil {
				return fmt.Errorf("starting %s: %w", p.name, err)
			}
			all[i] = append(all[i], s)
		}
	}
	fmt.Print("| control plane | start, s | stop, s | memory when started, MB |\n|---|---|---|---|\n")
	for i, p := range planes {
		fmt.Printf("| %s | %.2f | %.2f | %d |\n", p.name,
			median(all[i], func(s started) float64 { return s.start.Seconds() }),
			median(all[i], func(s started) float64 { return s.stop.Seconds() }),
			int64(median(all[i], func(s started) float64 { return float64(s.memory) }))/1e6)
	}
	return nil
}

func median(of []started, value func(started) float64) float64 {
	var values []float64
	for _, s := range of {
		values = append(values, value(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func startOnce(p controlPlane) (s started, err error) {
	for _, variable := range append(slices.Clone(p.environment), "KUBEBUILDER_ASSETS="+p.assets) {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return s, err
		}
		defer func() { _ = os.Unsetenv(name) }()
	}
	environment := &envtest.Environment{}
	began := time.Now()
	if _, err := environment.Start(); err != nil {
		return s, err
	}
	s.start = time.Since(began)
	s.memory = memory(os.Getpid())
	began = time.Now()
	err = environment.Stop()
	s.stop = time.Since(began)
	return s, err
}
