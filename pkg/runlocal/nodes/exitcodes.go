package nodes

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// ExitCodesAnnotation are codes by completion index ("1=3,4=0"), for the pods of an indexed Job: all have one template. A pod
// whose index is there exits with that code, whatever ExitCodeAnnotation says; for other pods it has no effect.
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
