package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of a package.
type suite struct {
	name string
	dir  string // of the package
	// skip is a regular expression of tests that cannot run here.
	skip string
}

// timeout bounds the tests of one suite.
const timeout = 10 * time.Minute

// ownSuites returns the suites of this module.
func ownSuites(ctx context.Context) ([]suite, error) {
	root, err := goOutput(ctx, ".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	return []suite{
		{name: "project: controller", dir: filepath.Join(root, "internal", "controller")},
		{name: "project: webhooks", dir: filepath.Join(root, "internal", "webhook")},
	}, nil
}

const controllerRuntime = "sigs.k8s.io/controller-runtime"

// startsControlPlane matches the tests that start one.
var startsControlPlane = regexp.MustCompile(`envtest\.Environment|&Environment\{|ControlPlane\{|&APIServer\{`)

// controllerRuntimeSuites copies controller-runtime of the version of go.mod, and returns those of its suites that start
// a control plane.
func controllerRuntimeSuites(ctx context.Context, work string) ([]suite, error) {
	version, err := goOutput(ctx, ".", "list", "-m", "-f", "{{.Version}}", controllerRuntime)
	if err != nil {
		return nil, err
	}
	described, err := goOutput(ctx, ".", "mod", "download", "-json", controllerRuntime+"@"+version)
	if err != nil {
		return nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(described), &module); err != nil {
		return nil, fmt.Errorf("finding %s: %w", controllerRuntime, err)
	}
	root := filepath.Join(work, "controller-runtime")
	if err := copyModule(module.Dir, root); err != nil {
		return nil, fmt.Errorf("copying %s: %w", controllerRuntime, err)
	}
	var suites []suite
	seen := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "pkg"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || seen[filepath.Dir(path)] {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // G304: of the module
		if err != nil || !startsControlPlane.Match(text) {
			return err
		}
		dir := filepath.Dir(path)
		seen[dir] = true
		name, err := filepath.Rel(root, dir)
		// One test of apiutil downloads the programs of an old version.
		suites = append(suites, suite{name: filepath.ToSlash(name), dir: dir, skip: "aggregatedDiscovery=false"})
		return err
	})
	return suites, err
}

// copyModule copies a module out of the cache, where files have neither write permission nor that of scripts.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := os.ReadFile(path) //nolint:gosec // G304: of the module
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		return os.WriteFile(target, data, mode)
	})
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// compile builds the tests, and returns the path of the program.
func (s suite) compile(ctx context.Context, work string) (string, error) {
	program := filepath.Join(work, "suite.test")
	_, err := goOutput(ctx, s.dir, "test", "-vet=off", "-c", "-o", program, ".")
	return program, err
}

// result is what a run of a suite gave.
type result struct {
	ok                      bool // as the program ended
	passed, failed, skipped int
	wall                    time.Duration
	peak                    int64 // bytes of the programs of the control planes, at most
	output                  string
}

func (r result) passedText() string {
	text := strconv.Itoa(r.passed) + " of " + strconv.Itoa(r.passed+r.failed)
	if !r.ok && r.failed == 0 {
		text += ", did not end well"
	}
	return text
}

func (r result) columns() string {
	return fmt.Sprintf(" %s | %.1f | %d |", r.passedText(), r.wall.Seconds(), r.peak/1e6)
}

// markVariable is set in the environment of a run, and so of the control planes that it starts.
const markVariable = "ENVTEST_COMPARE"

// run runs the tests with a control plane.
func (s suite) run(ctx context.Context, program string, p controlPlane) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := []string{"-test.v", "-ginkgo.no-color", "-test.timeout", timeout.String()}
	if s.skip != "" {
		args = append(args, "-test.skip", "/"+s.skip)
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // G204: it was built
	cmd.Dir = s.dir
	mark := markVariable + "=" + strconv.FormatInt(time.Now().UnixNano(), 10)
	cmd.Env = append(os.Environ(), mark, "KUBEBUILDER_ASSETS="+p.assets)
	cmd.Env = append(cmd.Env, p.environment...)
	defer endLeftovers(mark)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, fmt.Errorf("starting the tests of %s: %w", s.name, err)
	}
	measured := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	r := parseOutput(out.String())
	r.wall, r.peak, r.ok = time.Since(began), measured(), err == nil
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("running the tests of %s: %w", s.name, err)
	}
	return r, nil
}

var (
	specs = regexp.MustCompile(`(?m)^(?:SUCCESS|FAIL)! -- (\d+) Passed \| (\d+) Failed \| \d+ Pending \| (\d+) Skipped`)
	tests = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): `)
)

// parseOutput counts Ginkgo's specs, and Go's tests but for those that run specs.
func parseOutput(output string) result {
	r := result{output: output}
	suites := specs.FindAllStringSubmatch(output, -1)
	for _, m := range suites {
		r.passed += number(m[1])
		r.failed += number(m[2])
		r.skipped += number(m[3])
	}
	counts := map[string]int{}
	for _, m := range tests.FindAllStringSubmatch(output, -1) {
		counts[m[1]]++
	}
	for _, m := range suites { // each is one of Go's tests too
		if number(m[2]) > 0 {
			counts["FAIL"]--
		} else {
			counts["PASS"]--
		}
	}
	r.passed += max(0, counts["PASS"])
	r.failed += max(0, counts["FAIL"])
	r.skipped += counts["SKIP"]
	return r
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // digits, as matched
	return n
}
