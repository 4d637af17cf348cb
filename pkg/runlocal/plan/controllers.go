package plan

import "github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"

// leftOut are the controllers that take no part in a plan: those that publish or sign with what only the control plane
// has, those that clean up by their own timers what is old, those that act on the health of nodes, and the one that
// acts on metrics, which a plan does not have.
var leftOut = []string{
	"root-ca-cert-publisher", "kube-apiserver-serving-clustertrustbundle-publisher", "serviceaccount-token",
	"legacy-service-account-token-cleaner", "tokencleaner", "bootstrapsigner", "csrapproving", "csrsigning",
	"csrcleaner", "podcertificaterequest-cleaner", "clusterrole-aggregation", "node-lifecycle", "podgc", "ttl", "svm",
	"horizontalpodautoscaling",
}

// Controllers returns the controllers that take part in a plan.
func Controllers() []controllers.Controller {
	args := []string{"*"}
	for _, name := range leftOut {
		args = append(args, "-"+name)
	}
	selected, err := controllers.Select(args)
	if err != nil {
		panic(err) // a name of the list above is misspelt: TestControllers
	}
	return selected
}
