package diagnosis

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// neverSeen is a Deployment that its controller has never observed.
const neverSeen = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "nginx:1"}]}}}
`

// TestLeases: that a component does not run is certain only if its Lease shows so, whatever the time of this machine.
func TestLeases(t *testing.T) {
	const (
		unknown = "Likely GenerationNotSeen of Deployment/web: its controller has never observed it"
		down    = "Certain GenerationNotSeen of Deployment/web: its controller has never observed it; kube-controller-manager does not run"
	)
	for _, row := range []struct {
		reason, lease string // the spec of the Lease; empty if there is none
		refuse        int
		want          string
		unread        []string
	}{
		{"there is none, as where control planes are hidden", "", 0, unknown, nil},
		{"it is renewed", `{holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2026-01-01T11:59:55.000000Z"}`, 0, unknown, nil},
		{"the clock here is ahead", `{holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2026-01-01T11:59:25.000000Z"}`, 0, unknown, nil},
		{"the clock here is behind", `{holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2026-01-01T12:00:25.000000Z"}`, 0, unknown, nil},
		{"it has expired", `{holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2026-01-01T11:58:00.000000Z"}`, 0, down, nil},
		{"it was released long ago", `{holderIdentity: "", leaseDurationSeconds: 1, renewTime: "2026-01-01T11:58:00.000000Z"}`, 0, down, nil},
		{"it was released just now, and another waits for it", `{holderIdentity: "", leaseDurationSeconds: 1, renewTime: "2026-01-01T11:59:58.000000Z"}`, 0, unknown, nil},
		{"it was never renewed", `{holderIdentity: a, leaseDurationSeconds: 15}`, 0, unknown, nil},
		{"it does not say for how long it holds", `{holderIdentity: a, renewTime: "2026-01-01T11:58:00.000000Z"}`, 0, unknown, nil},
		{"its time is none", `{holderIdentity: a, leaseDurationSeconds: 15, renewTime: yesterday}`, 0, unknown, nil},
		{"it may not be read", `{}`, http.StatusForbidden, unknown, []string{"leases Forbidden"}},
	} {
		documents := neverSeen
		if row.lease != "" {
			documents += "\n---\n{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kube-controller-manager, namespace: kube-system}, spec: " +
				row.lease + "}"
		}
		s := newServer(t, documents)
		s.refuses["leases/kube-controller-manager"] = row.refuse
		read := s.situation("Deployment/web")
		got := lines(read.Diagnose(at))
		if len(got) == 0 || got[0] != row.want {
			t.Errorf("%s: %q", row.reason, got)
		}
		if diff := cmp.Diff(row.unread, unread(read), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: not read (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestWrites: the writes to other objects of a kind show whether their controller runs. That they could not be read is
// said.
func TestWrites(t *testing.T) {
	for _, row := range []struct {
		reason   string
		refuse   int
		evidence bool
		unread   []string
	}{
		{"they are read", 0, true, nil},
		{"they may not be", http.StatusForbidden, false, []string{"deployments Forbidden"}},
	} {
		s := newServer(t, neverSeen+"---\n"+strings.ReplaceAll(neverSeen, "name: web,", "name: other,"))
		s.refuses["list deployments"] = row.refuse
		read := s.situation("Deployment/web")
		evidence := slices.ContainsFunc(read.Diagnose(at).Causes[0].Evidence, func(e inspect.Evidence) bool {
			return strings.Contains(e.Text, "any of 2 objects")
		})
		if evidence != row.evidence {
			t.Errorf("%s: evidence: %t", row.reason, evidence)
		}
		if diff := cmp.Diff(row.unread, unread(read), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: not read (-want +got):\n%s", row.reason, diff)
		}
	}
}
