package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestPlanOf(t *testing.T) {
	const runFor = 5 * time.Second
	tests := []struct {
		name   string
		reason string
		pod    *corev1.Pod
		want   plan
		errors []string // parts of the texts
	}{
		{"server", "a pod that restarts always runs on", podOf("p"), plan{runFor: runFor}, nil},
		{"never", "a pod that is not restarted is to end", podOf("p", restart(corev1.RestartPolicyNever)), plan{ends: true, runFor: runFor}, nil},
		{"on failure", "so is one restarted on failure only", podOf("p", restart(corev1.RestartPolicyOnFailure)), plan{ends: true, runFor: runFor}, nil},
		{"run for", "the annotation ends any pod", podOf("p", annotated(RunForAnnotation, "250ms")), plan{ends: true, runFor: 250 * time.Millisecond}, nil},
		{"exit code", "a code without a time takes the default time", podOf("p", annotated(ExitCodeAnnotation, "3")), plan{ends: true, runFor: runFor, exitCode: 3}, nil},
		{"crash loop", "a crash has a code and comes soon", podOf("p", annotated(SimulateAnnotation, "crash-loop")), plan{failure: CrashLoop, ends: true, runFor: crashAfter, exitCode: 1}, nil},
		{"crash loop by hand", "annotations go together",
			podOf("p", annotated(SimulateAnnotation, "crash-loop"), annotated(RunForAnnotation, "1m"), annotated(ExitCodeAnnotation, "0")),
			plan{failure: CrashLoop, ends: true, runFor: time.Minute}, nil},
		{"image", "no time is needed to fail at once", podOf("p", annotated(SimulateAnnotation, "image-pull-error")), plan{failure: ImagePullError, runFor: runFor}, nil},
		{"never ready", "a pod may run without being ready", podOf("p", annotated(SimulateAnnotation, "never-ready")), plan{failure: NeverReady, runFor: runFor}, nil},
		{"unknown failure", "a wrong value counts as absent, and the right ones are named", podOf("p", annotated(SimulateAnnotation, "explode")), plan{runFor: runFor}, []string{"crash-loop, image-pull-error, never-ready"}},
		{"no duration", "a number has no unit", podOf("p", annotated(RunForAnnotation, "2")), plan{runFor: runFor}, []string{`"2" is not a duration`}},
		{"negative duration", "nothing runs for less than nothing", podOf("p", annotated(RunForAnnotation, "-1s")), plan{runFor: runFor}, []string{"not more than 0"}},
		{"no duration at all", "0 could be taken for no end", podOf("p", annotated(RunForAnnotation, "0s")), plan{runFor: runFor}, []string{"not more than 0"}},
		{"exit code too large", "a code is a byte", podOf("p", annotated(ExitCodeAnnotation, "256")), plan{runFor: runFor}, []string{"0 to 255"}},
		{"negative exit code", "a code is a byte", podOf("p", annotated(ExitCodeAnnotation, "-1")), plan{runFor: runFor}, []string{"0 to 255"}},
		{"exit code of an index", "the template is the same for all pods of an indexed Job",
			podOf("p", annotated(ExitCodesAnnotation, "0=7,1=3"), annotated(batchv1.JobCompletionIndexAnnotation, "1"), annotated(ExitCodeAnnotation, "9")),
			plan{ends: true, runFor: runFor, exitCode: 3}, nil},
		{"exit code of another index", "it is not this pod's", podOf("p", annotated(ExitCodesAnnotation, "0=7"), annotated(batchv1.JobCompletionIndexAnnotation, "1")), plan{runFor: runFor}, nil},
		{"exit codes without an index", "the pod is of no indexed Job", podOf("p", annotated(ExitCodesAnnotation, "0=7"), annotated(ExitCodeAnnotation, "9")), plan{ends: true, runFor: runFor, exitCode: 9}, nil},
		{"exit codes that are none", "what is wrong is named", podOf("p", annotated(ExitCodesAnnotation, "0:7")), plan{runFor: runFor}, []string{`"0:7" is not a completion index and a code`}},
		{"load", "what a pod uses does not change what its containers do", podOf("p", annotated(CPULoadAnnotation, "2"), annotated(MemoryUsageAnnotation, "64Mi")), plan{runFor: runFor}, nil},
		{"no load", "a word is no quantity", podOf("p", annotated(CPULoadAnnotation, "much")), plan{runFor: runFor}, []string{CPULoadAnnotation + `: "much" is not a quantity`}},
		{"negative usage", "nothing uses less than nothing", podOf("p", annotated(MemoryUsageAnnotation, "-1Mi")), plan{runFor: runFor}, []string{MemoryUsageAnnotation}},
		{"two errors", "each has its own", podOf("p", annotated(ExitCodeAnnotation, ""), annotated(RunForAnnotation, "")), plan{runFor: runFor}, []string{RunForAnnotation, ExitCodeAnnotation}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, errs := parsePlan(tt.pod, runFor)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if len(errs) != len(tt.errors) {
				t.Fatalf("%s: errors %v, want %d", tt.reason, errs, len(tt.errors))
			}
			for i, part := range tt.errors {
				if !strings.Contains(errs[i].Error(), part) {
					t.Errorf("%s: error %q does not contain %q", tt.reason, errs[i], part)
				}
			}
		})
	}
}
