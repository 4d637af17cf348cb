package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestIgnoredFields(t *testing.T) {
	required := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}
	preferred := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: required[0]}}
	spread := func(what corev1.UnsatisfiableConstraintAction) []corev1.TopologySpreadConstraint {
		return []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: what}}
	}
	for _, tt := range []struct {
		reason            string
		spec              corev1.PodSpec
		ignored, required []string
	}{
		{"nothing of it", corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}, nil, nil},
		{"required affinity", corev1.PodSpec{Affinity: &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
		}}, []string{"spec.affinity.podAffinity"}, []string{"spec.affinity.podAffinity"}},
		{"preferred anti-affinity", corev1.PodSpec{Affinity: &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred},
		}}, []string{"spec.affinity.podAntiAffinity"}, nil},
		{"a spread that must be kept", corev1.PodSpec{TopologySpreadConstraints: spread(corev1.DoNotSchedule)},
			[]string{"spec.topologySpreadConstraints"}, []string{"spec.topologySpreadConstraints"}},
		{"one that need not", corev1.PodSpec{TopologySpreadConstraints: spread(corev1.ScheduleAnyway)},
			[]string{"spec.topologySpreadConstraints"}, nil},
		{"claims", corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}},
			[]string{"spec.resourceClaims"}, []string{"spec.resourceClaims"}},
	} {
		if got := IgnoredFields(&tt.spec); !slices.Equal(got, tt.ignored) {
			t.Errorf("%s: ignored %q, want %q", tt.reason, got, tt.ignored)
		}
		if got := RequiredIgnoredFields(&tt.spec); !slices.Equal(got, tt.required) {
			t.Errorf("%s: required %q, want %q", tt.reason, got, tt.required)
		}
	}
}
