package nodes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod that change what its simulated containers do. A value that is not understood counts as absent,
// and a Warning event says so.
const (
	// SimulateAnnotation makes the pod fail: its value is a Failure. On a Node its value is a NodeFailure.
	SimulateAnnotation = "kubectl-reconcile.github.io/simulate"
	// RunForAnnotation makes containers exit that long after their start ("2s", more than 0). Without it they run on,
	// unless the pod's restart policy is Never or OnFailure: then they exit after Options.RunFor.
	RunForAnnotation = "kubectl-reconcile.github.io/run-for"
	// ExitCodeAnnotation is the code that containers exit with, 0 to 255; they do so after RunForAnnotation or
	// Options.RunFor.
	ExitCodeAnnotation = "kubectl-reconcile.github.io/exit-code"
)

// SimulatedLabel marks, with the value "true", the nodes whose pods are simulated. Nodes made by Start have it; a Node
// that somebody else makes is simulated if it has it too.
const SimulatedLabel = "kubectl-reconcile.github.io/simulated"

// Failure is a value of SimulateAnnotation.
type Failure string

// The failures that can be asked for. They concern the pod's regular containers; init containers succeed.
const (
	// CrashLoop makes containers exit after RunForAnnotation (one second without it) with ExitCodeAnnotation (1 without
	// it), and the kubelet's back-off of their restarts does the rest.
	CrashLoop Failure = "crash-loop"
	// ImagePullError makes every pull fail: ErrImagePull, then ImagePullBackOff.
	ImagePullError Failure = "image-pull-error"
	// NeverReady makes containers run without ever becoming ready.
	NeverReady Failure = "never-ready"
)

// plan is what a pod's regular containers are to do.
type plan struct {
	failure  Failure       // empty for none
	ends     bool          // whether containers exit by themselves
	runFor   time.Duration // from start to exit, if they do
	exitCode int32
}

// crashAfter is how long a container of CrashLoop runs unless it is told otherwise.
const crashAfter = time.Second

// parsePlan reads the pod's annotations, and returns one error for each that is not understood. runFor is for pods that
// are to end and do not say when.
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

// ExitCodesAnnotation are codes by completion index ("1=3,4=0"), for the pods of an indexed Job: all have one template.
// A pod whose index is there exits with that code, whatever ExitCodeAnnotation says; for other pods it has no effect.
const ExitCodesAnnotation = "kubectl-reconcile.github.io/exit-codes"

func parseExitCode(value string) (int32, error) {
	code, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number from 0 to 255", value)
	}
	return int32(code), nil
}

// parseExitCodes reads a value of ExitCodesAnnotation. No index may be there twice.
func parseExitCodes(value string) (map[string]int32, error) {
	codes := map[string]int32{}
	for pair := range strings.SplitSeq(value, ",") {
		index, code, both := strings.Cut(pair, "=")
		if number, err := strconv.ParseUint(index, 10, 31); err != nil || !both || strconv.FormatUint(number, 10) != index {
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

// indexExitCode finds the pod's code among the annotation's, and reports whether it is there.
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
