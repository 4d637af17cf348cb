package diagnosis

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestRoomIn: a quota allows what it has refused if what is used now, and that, are within it.
func TestRoomIn(t *testing.T) {
	list := func(amounts map[corev1.ResourceName]string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, amount := range amounts {
			out[name] = resource.MustParse(amount)
		}
		return out
	}
	for _, tt := range []struct {
		reason, refusal string
		hard, used      map[corev1.ResourceName]string
		want            string
	}{
		{
			"full as before", "requested: pods=1, used: pods=3, limited: pods=3",
			map[corev1.ResourceName]string{"pods": "3"}, map[corev1.ResourceName]string{"pods": "3"}, "",
		},
		{
			"raised", "requested: pods=1, used: pods=3, limited: pods=3",
			map[corev1.ResourceName]string{"pods": "4"}, map[corev1.ResourceName]string{"pods": "3"},
			"ResourceQuota/q has room now, pods: 3 of 4 used",
		},
		{
			"less is used", "requested: cpu=500m,memory=1Gi, used: cpu=4,memory=1Gi, limited: cpu=4,memory=8Gi",
			map[corev1.ResourceName]string{"cpu": "4", "memory": "8Gi"}, map[corev1.ResourceName]string{"cpu": "3500m", "memory": "1Gi"},
			"ResourceQuota/q has room now, cpu: 3500m of 4 used, memory: 1Gi of 8Gi used",
		},
		{
			"room for one of two", "requested: cpu=500m,memory=1Gi, used: cpu=4,memory=8Gi, limited: cpu=4,memory=8Gi",
			map[corev1.ResourceName]string{"cpu": "5", "memory": "8Gi"}, map[corev1.ResourceName]string{"cpu": "4", "memory": "8Gi"}, "",
		},
		{
			"no controller has counted yet", "requested: pods=1, used: pods=3, limited: pods=3",
			map[corev1.ResourceName]string{"pods": "9"}, nil, "",
		},
		{
			"it counts something else now", "requested: pods=1, used: pods=3, limited: pods=3",
			map[corev1.ResourceName]string{"secrets": "9"}, nil, "ResourceQuota/q does not count that any more",
		},
		{
			"a limit must be set as before", "must specify limits.cpu for: web",
			map[corev1.ResourceName]string{"limits.cpu": "9"}, nil, "",
		},
		{
			"none must be set any more", "must specify limits.cpu for: web",
			map[corev1.ResourceName]string{"pods": "9"}, nil, "ResourceQuota/q does not count that any more",
		},
		{"other words", "no", map[corev1.ResourceName]string{"pods": "9"}, nil, ""},
		{"no amount", "requested: pods=many, used: pods=3", map[corev1.ResourceName]string{"pods": "9"}, nil, ""},
	} {
		quota := &corev1.ResourceQuota{
			Spec: corev1.ResourceQuotaSpec{Hard: list(tt.hard)}, Status: corev1.ResourceQuotaStatus{Used: list(tt.used)},
		}
		quota.Name = "q"
		if got := roomIn(quota, tt.refusal); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
