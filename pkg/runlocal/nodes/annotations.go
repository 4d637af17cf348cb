package nodes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod that change what its simulated containers do. An invalid value is ignored, and reported by a
// Warning event.
const (
	// SimulateAnnotation makes the pod fail: its value is a Failure. On a Node its value is a NodeFailure.
	SimulateAnnotation = "kubectl-reconcile.github.io/simulate"
	// RunForAnnotation makes containers exit that long after their start ("2s", more than 0). Without it they do not
	// exit, unless the pod's restart policy is Never or OnFailure: then they exit after Options.RunFor.
	RunForAnnotation = "kubectl-reconcile.github.io/run-for"
	// ExitCodeAnnotation is the code that containers exit with, 0 to 255; they do so after RunForAnnotation or
	// Options.RunFor.
	ExitCodeAnnotation = "kubectl-reconcile.github.io/exit-code"
)

// SimulatedLabel marks, with the value "true", the nodes whose pods are simulated. Nodes made by Start have it; a Node
// that another client creates is simulated too if it has the label.
const SimulatedLabel = "kubectl-reconcile.github.io/simulated"

// InvalidAnnotation is the reason of the Events about annotations whose values have no effect.
const InvalidAnnotation = "InvalidAnnotation"

// Failure is a value of SimulateAnnotation.
type Failure string

// The failures of a pod's regular containers. Init containers always succeed.
const (
	// CrashLoop makes containers exit after RunForAnnotation (one second without it) with ExitCodeAnnotation (1 without
	// it), so that the kubelet restarts them with a growing back-off.
	CrashLoop Failure = "crash-loop"
	// ImagePullError makes every pull fail: ErrImagePull, then ImagePullBackOff.
	ImagePullError Failure = "image-pull-error"
	// NeverReady makes containers run without ever becoming ready.
	NeverReady Failure = "never-ready"
)

// plan is what a pod's regular containers will do.
type plan struct {
	failure  Failure       // empty for none
	ends     bool          // whether containers exit by themselves
	runFor   time.Duration // from start to exit, if they do
	exitCode int32
}

// crashAfter is how long a container of CrashLoop runs without RunForAnnotation.
const crashAfter = time.Second

// parsePlan reads the pod's annotations, and returns one error for each invalid one. runFor is how long containers run
// that are to exit and have no RunForAnnotation.
func parsePlan(pod *corev1.Pod, runFor time.Duration) (plan, []error) {
	var p plan
	var errs []error
	read := func(annotation string, parse func(value string) error) bool {
		value, ok := pod.Annotations[annotation]
		if !ok {
			return false
		}
		if err := parse(value); err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", annotation, err))
			return false
		}
		return true
	}
	read(SimulateAnnotation, p.parseFailure)
	hasRunFor := read(RunForAnnotation, p.parseRunFor)
	hasExitCode := read(ExitCodeAnnotation, p.readExitCode)
	read(ExitCodesAnnotation, func(value string) error {
		own, err := p.indexExitCode(pod, value)
		hasExitCode = hasExitCode || own
		return err
	})
	crash := p.failure == CrashLoop
	errs = append(errs, checkUsageAnnotations(pod)...)
	p.ends = hasRunFor || hasExitCode || crash || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	switch {
	case hasRunFor:
	case crash:
		p.runFor = crashAfter
	default:
		p.runFor = runFor
	}
	if crash && !hasExitCode {
		p.exitCode = 1
	}
	return p, errs
}

func (p *plan) parseFailure(value string) error {
	switch f := Failure(value); f {
	case CrashLoop, ImagePullError, NeverReady:
		p.failure = f
		return nil
	}
	return fmt.Errorf("%q is none of %s, %s, %s", value, CrashLoop, ImagePullError, NeverReady)
}

func (p *plan) parseRunFor(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 2s", value)
	}
	if d <= 0 {
		return fmt.Errorf("%q is not more than 0", value)
	}
	p.runFor = d
	return nil
}

func (p *plan) readExitCode(value string) (err error) {
	p.exitCode, err = parseExitCode(value)
	return err
}

// ExitCodesAnnotation has exit codes by completion index ("1=3,4=0"), for the pods of an indexed Job, which all have
// the same template. It overrides ExitCodeAnnotation for a pod whose index is among them, and has no effect on other
// pods.
const ExitCodesAnnotation = "kubectl-reconcile.github.io/exit-codes"

// parseExitCode parses an exit code, 0 to 255.
func parseExitCode(value string) (int32, error) {
	code, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number from 0 to 255", value)
	}
	return int32(code), nil
}

// parseExitCodes parses a value of ExitCodesAnnotation. An index that occurs twice is an error.
func parseExitCodes(value string) (map[string]int32, error) {
	codes := map[string]int32{}
	for pair := range strings.SplitSeq(value, ",") {
		index, code, both := strings.Cut(pair, "=")
		number, err := strconv.ParseUint(index, 10, 31)
		if err != nil || !both || strconv.FormatUint(number, 10) != index {
			return nil, fmt.Errorf("%q is not a completion index and a code such as 1=3", pair)
		}
		if _, twice := codes[index]; twice {
			return nil, fmt.Errorf("index %s is there twice", index)
		}
		parsed, err := parseExitCode(code)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", index, err)
		}
		codes[index] = parsed
	}
	return codes, nil
}

// indexExitCode sets the exit code for the pod's completion index, and reports whether the annotation has one.
func (p *plan) indexExitCode(pod *corev1.Pod, value string) (bool, error) {
	codes, err := parseExitCodes(value)
	if err != nil {
		return false, err
	}
	code, ok := codes[pod.Annotations[batchv1.JobCompletionIndexAnnotation]]
	if ok {
		p.exitCode = code
	}
	return ok, nil
}
