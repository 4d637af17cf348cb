package run

import (
	"fmt"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apihealth"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/telemetry"
)

// watch lets the run tell, once each, when the cluster's API server does not answer or does not take the credentials, when
// rights are taken away, and when that is over. client-go and the controllers retry meanwhile.
func (r *clusterRun) watch(out *outputs) {
	r.monitor = apihealth.New(nil, func(n apihealth.Notice) { out.reached(n) })
	r.options.Config.Wrap(r.monitor.Wrap)
	r.watchRights(out)
}

// reachable is the readiness of the API server.
func (r *clusterRun) reachable() telemetry.Check {
	check := telemetry.Check{Name: "api-server"}
	if r.monitor == nil {
		return check
	}
	for _, n := range r.monitor.Problems() {
		check.Problem = trouble(n)
	}
	return check
}

// reached tells of a change.
func (out *outputs) reached(n apihealth.Notice) {
	switch n.Kind {
	case apihealth.Unreachable, apihealth.Unauthorized:
		out.warn("the API server " + trouble(n) + "; retrying")
	case apihealth.Reachable:
		out.tell("the API server is back after " + n.For.Round(100*time.Millisecond).String())
	case apihealth.Authorized:
		out.tell("the API server takes the credentials again after " + n.For.Round(100*time.Millisecond).String())
	}
	if n.Untrusted {
		out.tell("hint: whoever answers has a certificate that your kubeconfig does not trust: if the cluster was made anew, start again with its kubeconfig")
	}
	if n.Kind == apihealth.Unauthorized {
		out.tell("hint: log in again; a token file or a credential plugin is asked anew by itself, a token within the kubeconfig is not")
	}
}

// trouble says what is wrong with the API server.
func trouble(n apihealth.Notice) string {
	since := n.Since.Format(time.TimeOnly)
	if n.Kind == apihealth.Unauthorized {
		return fmt.Sprintf("does not take the credentials since %s (%s)", since, n.Reason)
	}
	return fmt.Sprintf("does not answer since %s (%s)", since, n.Reason)
}
