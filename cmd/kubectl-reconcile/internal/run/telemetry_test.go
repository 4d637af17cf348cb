package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// TestChecksWhileASessionStarts: a start that leaves controllers out does not change what is read meanwhile.
func TestChecksWhileASessionStarts(t *testing.T) {
	server, o := newTelemetryServer("0", ""), &Options{Session: runlocal.Options{Controllers: known(t, "deployment", "ttl")}}
	checked := func() []string {
		var names []string
		for _, c := range server.checks(o) {
			names = append(names, c.Name)
		}
		return names
	}
	server.run(o.controllers())
	o.Session.Controllers = known(t, "ttl")
	if diff := cmp.Diff([]string{"session", "deployment", "ttl"}, checked()); diff != "" {
		t.Errorf("before it runs, those that were asked for (-want +got):\n%s", diff)
	}
	server.started(nil, o.controllers())
	if diff := cmp.Diff([]string{"session", "ttl"}, checked()); diff != "" {
		t.Errorf("then those that run (-want +got):\n%s", diff)
	}
}
