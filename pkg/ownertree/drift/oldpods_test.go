package drift

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// owned is a pod, or what else has an owner, with labels and more fields.
func owned(kind, name, owner, uid, labels, more string) string {
	version := "v1"
	if kind == "ControllerRevision" {
		version = "apps/v1"
	}
	return fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata:
  {name: %s, namespace: shop, labels: {%s}, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: %s, controller: true}]}
%s`, version, kind, name, labels, owner, uid, uid, more)
}

func TestOldPods(t *testing.T) {
	set := func(strategy string) string {
		return `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, uid: db, generation: 2}
spec: {replicas: 3, updateStrategy: ` + strategy + `}
status: {observedGeneration: 2, updateRevision: db-2, currentRevision: db-1}`
	}
	of := func(n int, revision string) string {
		return owned("Pod", fmt.Sprintf("db-%d", n), "StatefulSet", "db", revisionLabel+": "+revision, "")
	}
	daemons := `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, namespace: shop, uid: log, generation: 1}
spec: {updateStrategy: {type: RollingUpdate}}
status: {observedGeneration: 1}`
	for _, tt := range []struct {
		reason  string
		objects []string
		want    []string
	}{
		{"pods of the newest revision", []string{set("{type: RollingUpdate}"), of(0, "db-2")}, nil},
		{"some of an older one", []string{set("{type: RollingUpdate}"), of(2, "db-2"), of(1, "db-1"), of(0, "db-1")},
			[]string{"db: db-1 is to be db-2: [db-0 db-1]"}},
		{"a partition keeps them", []string{set("{rollingUpdate: {partition: 1}}"), of(1, "db-1"), of(0, "db-1")},
			[]string{"db: db-1 is to be db-2: [db-1]"}},
		{"so does the strategy", []string{set("{type: OnDelete}"), of(0, "db-1")}, nil},
		{"no label, no revision", []string{set("{type: RollingUpdate}"), owned("Pod", "db-0", "StatefulSet", "db", "", "")}, nil},
		{"a DaemonSet does not name its newest revision", []string{
			daemons,
			owned("ControllerRevision", "log-b", "DaemonSet", "log", "", "revision: 2"),
			owned("ControllerRevision", "log-a", "DaemonSet", "log", "", "revision: 1"),
			owned("Pod", "log-x", "DaemonSet", "log", revisionLabel+": a", ""),
			owned("Pod", "log-y", "DaemonSet", "log", revisionLabel+": b", ""),
		}, []string{"log: log-a is to be log-b: [log-x]"}},
	} {
		r := Find(decode(t, tt.objects...))
		var got []string
		for _, old := range r.OldPods {
			got = append(got, fmt.Sprintf("%s: %s is to be %s: %v", old.Object.GetName(), old.Actual, old.Wanted, old.Pods))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
