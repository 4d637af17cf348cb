package nodes

import (
	"fmt"
	"slices"
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
		{"never", "a pod that is not restarted is to end", podOf("p", restart(corev1.RestartPolicyNever)),
			plan{ends: true, runFor: runFor}, nil},
		{"on failure", "so is one restarted on failure only", podOf("p", restart(corev1.RestartPolicyOnFailure)),
			plan{ends: true, runFor: runFor}, nil},
		{"run for", "the annotation ends any pod", podOf("p", annotated(RunForAnnotation, "250ms")),
			plan{ends: true, runFor: 250 * time.Millisecond}, nil},
		{"exit code", "a code without a time takes the default time", podOf("p", annotated(ExitCodeAnnotation, "3")),
			plan{ends: true, runFor: runFor, exitCode: 3}, nil},
		{"crash loop", "a crash has a code and comes soon", podOf("p", annotated(SimulateAnnotation, "crash-loop")),
			plan{failure: CrashLoop, ends: true, runFor: crashAfter, exitCode: 1}, nil},
		{"crash loop by hand", "annotations go together",
			podOf("p", annotated(SimulateAnnotation, "crash-loop"), annotated(RunForAnnotation, "1m"),
				annotated(ExitCodeAnnotation, "0")),
			plan{failure: CrashLoop, ends: true, runFor: time.Minute}, nil},
		{"image", "no time is needed to fail at once", podOf("p", annotated(SimulateAnnotation, "image-pull-error")),
			plan{failure: ImagePullError, runFor: runFor}, nil},
		{"never ready", "a pod may run without being ready", podOf("p", annotated(SimulateAnnotation, "never-ready")),
			plan{failure: NeverReady, runFor: runFor}, nil},
		{"unknown failure", "a wrong value counts as absent, and the right ones are named",
			podOf("p", annotated(SimulateAnnotation, "explode")), plan{runFor: runFor},
			[]string{"crash-loop, image-pull-error, never-ready"}},
		{"no duration", "a number has no unit", podOf("p", annotated(RunForAnnotation, "2")), plan{runFor: runFor},
			[]string{`"2" is not a duration`}},
		{"negative duration", "nothing runs for less than nothing", podOf("p", annotated(RunForAnnotation, "-1s")),
			plan{runFor: runFor}, []string{"not more than 0"}},
		{"no duration at all", "0 could be read as no end", podOf("p", annotated(RunForAnnotation, "0s")),
			plan{runFor: runFor}, []string{"not more than 0"}},
		{"exit code too large", "a code is a byte", podOf("p", annotated(ExitCodeAnnotation, "256")), plan{runFor: runFor},
			[]string{"0 to 255"}},
		{"negative exit code", "a code is a byte", podOf("p", annotated(ExitCodeAnnotation, "-1")), plan{runFor: runFor},
			[]string{"0 to 255"}},
		{"exit code of an index", "the template is the same for all pods of an indexed Job",
			podOf("p", annotated(ExitCodesAnnotation, "0=7,1=3"), annotated(batchv1.JobCompletionIndexAnnotation, "1"),
				annotated(ExitCodeAnnotation, "9")),
			plan{ends: true, runFor: runFor, exitCode: 3}, nil},
		{"exit code of another index", "it is not this pod's",
			podOf("p", annotated(ExitCodesAnnotation, "0=7"), annotated(batchv1.JobCompletionIndexAnnotation, "1")),
			plan{runFor: runFor}, nil},
		{"exit codes without an index", "the pod is of no indexed Job",
			podOf("p", annotated(ExitCodesAnnotation, "0=7"), annotated(ExitCodeAnnotation, "9")),
			plan{ends: true, runFor: runFor, exitCode: 9}, nil},
		{"exit codes that are none", "what is wrong is named", podOf("p", annotated(ExitCodesAnnotation, "0:7")),
			plan{runFor: runFor}, []string{`"0:7" is not a completion index and a code`}},
		{"load", "what a pod uses does not change what its containers do",
			podOf("p", annotated(CPULoadAnnotation, "2"), annotated(MemoryUsageAnnotation, "64Mi")), plan{runFor: runFor}, nil},
		{"no load", "a word is no quantity", podOf("p", annotated(CPULoadAnnotation, "much")), plan{runFor: runFor},
			[]string{CPULoadAnnotation + `: "much" is not a quantity`}},
		{"negative usage", "nothing uses less than nothing", podOf("p", annotated(MemoryUsageAnnotation, "-1Mi")),
			plan{runFor: runFor}, []string{MemoryUsageAnnotation}},
		{"two errors", "each has its own", podOf("p", annotated(ExitCodeAnnotation, ""), annotated(RunForAnnotation, "")),
			plan{runFor: runFor}, []string{RunForAnnotation, ExitCodeAnnotation}},
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

func TestParseExitCodes(t *testing.T) {
	for _, test := range []struct {
		reason, value string
		want          map[string]int32
		err           string
	}{
		{"one", "1=3", map[string]int32{"1": 3}, ""},
		{"several, in any order", "4=0,1=255", map[string]int32{"1": 255, "4": 0}, ""},
		{"an empty value names no index", "", nil, `"" is not a completion index`},
		{"a code is not missing", "1=", nil, "index 1: \"\" is not a number from 0 to 255"},
		{"nor an index", "=3", nil, `"=3" is not a completion index`},
		{"a code is a byte", "1=256", nil, "index 1: \"256\""},
		{"an index is written as Kubernetes writes it", "01=3", nil, `"01=3" is not`},
		{"no index is below 0", "-1=3", nil, `"-1=3" is not`},
		{"which of two would count", "1=3,1=4", nil, "index 1 is there twice"},
	} {
		got, err := parseExitCodes(test.value)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.reason, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// FuzzParseExitCodes checks that what is understood says just what was written.
func FuzzParseExitCodes(f *testing.F) {
	for _, seed := range []string{"1=3", "4=0,1=255", "", "=", "1=3,", "1=+3", "1=03"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		codes, err := parseExitCodes(value)
		if err != nil {
			return
		}
		pairs := strings.Split(value, ",")
		if len(pairs) != len(codes) {
			t.Fatalf("%q has %d pairs, but %d codes were read", value, len(pairs), len(codes))
		}
		for index, code := range codes {
			if !slices.ContainsFunc(pairs, func(pair string) bool {
				before, after, _ := strings.Cut(pair, "=")
				return before == index && fmt.Sprint(code) == strings.TrimLeft(after[:len(after)-1], "0")+after[len(after)-1:]
			}) {
				t.Errorf("%q does not say %s=%d", value, index, code)
			}
		}
	})
}
