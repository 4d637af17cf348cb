package runlocal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// objectOf returns an applied object of a kind with a status.
func objectOf(group, kind, name, status string) ObjectStatus {
	s := ObjectStatus{Status: inspect.Status{Status: status}}
	s.Kind, s.Name = schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, name
	return s
}

func TestMissingControllers(t *testing.T) {
	running := known(t, "deployment", "replicaset")
	web, db, job := objectOf("apps", "Deployment", "web", "InProgress"),
		objectOf("apps", "StatefulSet", "db", "InProgress"), objectOf("batch", "Job", "j", "InProgress")
	done := objectOf("batch", "Job", "j", "Current")
	for _, tt := range []struct {
		reason string
		r      Readiness
		want   []string
	}{
		{"all run", Readiness{Applied: []ObjectStatus{web}}, nil},
		{"each is named once", Readiness{Applied: []ObjectStatus{web, db, db, job}}, []string{"statefulset", "job"}},
		{"a ready object needs none", Readiness{Applied: []ObjectStatus{web, done}}, nil},
		{"created objects need one as well", Readiness{Applied: []ObjectStatus{web}, Created: []ObjectStatus{job}},
			[]string{"job"}},
	} {
		if diff := cmp.Diff(tt.want, tt.r.MissingControllers(running)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestFailedJobs(t *testing.T) {
	failed, late := objectOf("batch", "Job", "flaky", "Failed"), objectOf("", "Pod", "p", "InProgress")
	for _, tt := range []struct {
		reason string
		r      Readiness
		first  string
		only   bool
	}{
		{"no object", Readiness{}, "", false},
		{"one that is late, and no Job", Readiness{Applied: []ObjectStatus{late}}, "", false},
		{"a failed Job", Readiness{Applied: []ObjectStatus{objectOf("", "Pod", "q", "Current"), failed}}, "flaky",
			true},
		{"a failed Job among others", Readiness{Applied: []ObjectStatus{failed, late}}, "flaky", false},
		{"a failed object of another group is none",
			Readiness{Applied: []ObjectStatus{objectOf("example.com", "Job", "j", "Failed")}}, "", false},
	} {
		job, ok := tt.r.FailedJob()
		if ok != (tt.first != "") || job.Name != tt.first || tt.r.OnlyFailedJobs() != tt.only {
			t.Errorf("%s: %q (%t), only failed Jobs: %t", tt.reason, job.Name, ok, tt.r.OnlyFailedJobs())
		}
	}
	pod := func(name, namespace, reason string) ObjectStatus {
		p := objectOf("", "Pod", "flaky-x", "Failed")
		p.Namespace, p.Status.Reason, p.Controller = namespace, reason,
			&metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: name}
		return p
	}
	failed.Namespace = "shop"
	r := Readiness{Applied: []ObjectStatus{failed}, Created: []ObjectStatus{
		pod("flaky", "shop", "exit code 3"), pod("flaky", "shop", "exit code 3"), pod("flaky", "shop", "OOMKilled"),
		pod("flaky", "shop", ""),
		pod("other", "shop", "exit code 4"), pod("flaky", "blog", "exit code 5"),
	}}
	if diff := cmp.Diff([]string{"exit code 3", "OOMKilled"}, r.PodFailures(failed)); diff != "" {
		t.Errorf("reasons of its pods, each once (-want +got):\n%s", diff)
	}
}

func TestUnhandledKinds(t *testing.T) {
	for _, tt := range []struct {
		running []string
		want    []UnhandledKind
	}{
		{[]string{"deployment", "replicaset", "ttl"}, nil},
		{[]string{"deployment", "cronjob"}, []UnhandledKind{{"ReplicaSets", "deployment", "replicaset"},
			{"Jobs", "cronjob", "job"}}},
	} {
		if diff := cmp.Diff(tt.want, UnhandledKinds(known(t, tt.running...))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.running, diff)
		}
	}
}
