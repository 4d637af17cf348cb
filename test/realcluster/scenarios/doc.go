// Package scenarios is the controller differential: it plays scenarios on a real control plane (etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, and kwok for kubelets) and on `kubectl reconcile sandbox` with the same
// controllers, and compares what comes of them. Both are black boxes, reached by a rest.Config.
//
// # A scenario
//
// A scenario is a file in testdata/scenarios; its name without ".yaml" is the scenario's and that of its namespace. To
// add one, add a file: nothing here knows kinds or controllers. It says what it shows (about), which controllers must
// run by kube-controller-manager's names without "-controller" (those of all scenarios run on both sides), and the
// steps:
//
//	about: a Deployment is scaled
//	controllers: [deployment, replicaset]
//	steps:
//	- apply:                                   # or create; as many manifests as needed
//	  - apiVersion: apps/v1
//	    kind: Deployment
//	    metadata: {name: web}
//	    spec: {…}
//	  wait:                                    # what must hold before the next step
//	  - {object: pods, selector: app=web, path: .status.phase, value: Running, count: 3}
//	- ready: {object: pods, selector: app=web, order: oldest, first: 1}
//	- patch: {object: deployments.apps/web, type: merge, subresource: scale, body: {spec: {replicas: 1}}}
//	- evict: {object: pods, selector: app=web, refused: TooManyRequests}
//	- delete: {object: deployments.apps/web, propagation: Foreground}
//	  wait: [{object: deployments.apps/web, absent: true}]
//
// Scenario and the types that it is made of say what each field means. In manifests and bodies {{ns}} is the namespace,
// and {{uid configmaps/one}} the uid of an object.
//
// Objects without a namespace, and those whose manifest names another, need unique names ({{ns}}-x). From then on they
// count as if they were in the scenario's namespace: they can be waited for, patched and deleted, they are compared,
// with the writes to them, and deleted at the end. With a namespace that a scenario makes all that is in it counts;
// with a claim its volume does. A scenario that makes nodes says alone: true, so that no other's pods come to lie
// there.
//
// # Making it deterministic
//
// Both sides must get the same inputs in the same states. A step ends when what it waits for holds and nothing in the
// namespace has changed for some ticks of the pulse; so give the last state that the step leads to. What happens
// between two steps should not depend on which of two controllers is faster. Means to that end:
//   - a readiness gate in the pod template (readinessGates: [{conditionType: example.com/held}]) holds pods not ready
//     until a step with ready opens them, one by one;
//   - the annotation kubectl-reconcile.github.io/simulate: never-ready is understood on both sides, and so are run-for
//     and exit-code (docs/nodes.md; ../stages has kwok's part); image-pull-error and crash-loop only up to the first
//     failure, as kwok does not try again;
//   - nodeName: "{{ns}}" in the template, a node that is not there, leaves pods to the scenario: no scheduler binds
//     them, no kubelet runs them, and they stay terminating when they are deleted. A patch of their subresource status
//     plays the kubelet's part. It must not last longer than 40 seconds: then podgc knows that there is no such node.
//
// Claims get volumes on both sides from one provisioner, that of the plugin's simulated nodes, which runs beside the
// real control plane too; the default StorageClass is called standard. Volumes have no namespace, and claims of other
// scenarios look for them: give those that a scenario makes, and its claims, its own storageClassName.
//
// # What is compared
//
// Objects that are left in the namespace, whole; Events by component, kind, type and reason with their occurrences, and
// the messages that there were, but those of conflicts; writes by controller, verb, resource and subresource. Only what
// is generated in each run is normalised: see normaliser. What Kubernetes itself does not determine has a rule, with
// the reason, in testdata/rules.yaml or in the scenario (rules); it concerns a count or, rarely, a field of an object.
// A difference that is meant to be has a line in testdata/meant.yaml, with the reason; a line that is not needed any
// more fails a full run. Everything else that differs is a bug.
//
// A scenario that fails prints every difference, and what happened on both sides in order. To find out what is stable,
// play a scenario often, and the embedded side against itself:
//
//	SCENARIOS='rolling,paused' SCENARIOS_SIDES=embedded,embedded go test -count=10 -run TestScenarios ./scenarios
//
// testdata/names.yaml says which user of a real control plane is which controller of a trace, where the names differ by
// more than "-controller".
package scenarios
