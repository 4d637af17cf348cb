// Command compare runs suites of tests with several control planes, one after another, and prints what they took as the
// tables of docs/envtest.md: the suites of this module with envtest's programs, with those of `kubectl reconcile
// envtest-assets`, and with these and Kubernetes' controllers; and controller-runtime's own suites with the first two.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// The programs of envtest, for its column.
const envtestName = "envtest"

// controlPlane is a folder for KUBEBUILDER_ASSETS, and what the environment adds.
type controlPlane struct {
	name        string
	assets      string
	environment []string
}

// options are the flags.
type options struct {
	envtest, program string // the folder of envtest's programs, and kubectl-reconcile
	suites           *regexp.Regexp
	starts           int
	foreign          bool
	verbose          bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.StringVar(&o.envtest, "envtest", "", "folder with envtest's kube-apiserver and etcd; empty leaves them out")
	flags.StringVar(&o.program, "program", os.Getenv("KUBECTL_RECONCILE"), "kubectl-reconcile")
	flags.IntVar(&o.starts, "starts", 5, "how often each control plane is started to measure that; 0 is not at all")
	flags.BoolVar(&o.foreign, "controller-runtime", true, "run controller-runtime's own suites too")
	flags.BoolVar(&o.verbose, "v", false, "show the output of suites that fail")
	pattern := flags.String("suites", ".", "regular expression of the suites to run")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.program == "" {
		return nil, errors.New("-program or KUBECTL_RECONCILE must name kubectl-reconcile")
	}
	var err error
	o.suites, err = regexp.Compile(*pattern)
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "envtest-compare-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	planes, err := o.controlPlanes(ctx, work)
	if err != nil {
		return err
	}
	if o.starts > 0 {
		if err := printStarts(planes, o.starts); err != nil {
			return err
		}
	}
	own, err := ownSuites(ctx)
	if err != nil {
		return err
	}
	failed, err := o.compare(ctx, work, planes, own)
	if err != nil || !o.foreign {
		return errors.Join(err, failed)
	}
	foreign, err := controllerRuntimeSuites(ctx, work)
	if err != nil {
		return err
	}
	bare := planes[:len(planes)-1] // their tests expect envtest, in which nothing else works on the objects
	more, err := o.compare(ctx, work, bare, foreign)
	return errors.Join(err, failed, more)
}

// controlPlanes returns those to compare, the one with controllers last.
func (o *options) controlPlanes(ctx context.Context, work string) ([]controlPlane, error) {
	out, err := exec.CommandContext(ctx, o.program, "envtest-assets", "--dir", filepath.Join(work, "assets")).Output()
	if err != nil {
		return nil, fmt.Errorf("making the folder of envtest-assets: %w", err)
	}
	assets := strings.TrimSpace(string(out))
	var planes []controlPlane
	if o.envtest != "" {
		planes = append(planes, controlPlane{name: envtestName, assets: o.envtest})
	}
	return append(planes, controlPlane{name: "envtest-assets", assets: assets}, controlPlane{
		name: "with controllers", assets: assets,
		environment: []string{"KUBECTL_RECONCILE_CONTROLLERS=*", "KUBECTL_RECONCILE_NODES=3"},
	}), nil
}

// compare runs suites with all control planes, prints a table, and returns an error for tests that failed.
func (o *options) compare(ctx context.Context, work string, planes []controlPlane, suites []suite) (failed, err error) {
	head, line := "| suite |", "|---|"
	for _, p := range planes {
		head, line = head+" "+p.name+": passed | s | MB |", line+"---|---|---|"
	}
	fmt.Printf("\n%s\n%s\n", head, line)
	for _, s := range suites {
		if !o.suites.MatchString(s.name) {
			continue
		}
		row := "| " + s.name + " |"
		program, err := s.compile(ctx, work)
		if err != nil {
			return nil, err
		}
		for _, p := range planes {
			r, err := s.run(ctx, program, p)
			if err != nil {
				return nil, err
			}
			row += r.columns()
			if r.failed > 0 || !r.ok {
				failed = errors.Join(failed, fmt.Errorf("%s with %s: %s", s.name, p.name, r.passedText()))
				if o.verbose {
					fmt.Fprintln(os.Stderr, r.output)
				}
			}
		}
		fmt.Println(row)
		_ = os.Remove(program)
	}
	return failed, nil
}
