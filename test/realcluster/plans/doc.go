// Package plans compares the plans of `kubectl reconcile diff -f` with what a real control plane then does. For each
// case it makes the objects that there are at the beginning, has the plugin plan a change of them, has kubectl make
// the change, and compares the plan with what is written from then on, and with the objects that come of it. The
// plugin and the control plane are black boxes: a plan is what the program prints with -o json.
//
// # A case
//
// A case is a file in testdata/cases; its name without ".yaml" is that of its namespace. To add one, add a file. It is
// a scenario of package scenarios, whose steps make what there is, and a change:
//
//	about: a new image of a Deployment
//	steps:
//	- kubectl: [{apiVersion: apps/v1, kind: Deployment, …}]
//	  wait: [{object: deployments.apps/web, path: .status.availableReplicas, value: 3}]
//	change:
//	  kubectl: [{apiVersion: apps/v1, kind: Deployment, …}]
//	  flags: [--server-side]                   # of kubectl and of the plan
//	  wait: [{object: deployments.apps/web, path: .status.updatedReplicas, value: 3}]
//
// All controllers of kube-controller-manager run, and the scheduler, a simulated kubelet and a simulated provisioner.
// testdata/cluster.yaml has what is there for all cases.
//
// # What is compared
//
// Writes are those of objects but Events and Leases: on the real side each version that a watch shows, with the user
// who made it by the audit log. A write creates, deletes or updates; an update is described by the fields that it
// changes, and by their values where these are numbers. Names without what the API generates of them tell objects
// apart. A difference is called by one of these:
//
//	history KIND/NAME            the writes of one object in their order, by controller; a line an object of the name
//	order CONTROLLER KIND/NAME   the writes of one controller to an object, and to what it owns, in their order;
//	                             creations of one kind that follow each other are sorted, as they are sent
//	                             concurrently, and so are deletions
//	status CONTROLLER KIND/NAME  whether the controller writes the status of the object
//	refused CONTROLLER VERB CODE whether a write of the controller is refused
//	sizes KIND/NAME              the numbers of replicas that the object is asked to have, in their order
//	object KIND/NAME PATH        a field of an object at the end, status included
//
// There is no order among the objects of a scheduler, a kubelet, a provisioner and the garbage collector, which work
// on several at a time. What a cluster does not determine otherwise has a rule in the case, with the
// reason: ignored; presence, by which both sides have the same lines, however often and in whichever order; or ends,
// by which the first line and the last are the same. What a plan leaves out on purpose has one too. Everything else
// that differs is a bug.
//
// A case that differs is played again by itself, twice at most: what does not differ each time is a race. It prints all
// that differs, and what was planned and done, in order:
//
//	PLANS='deployment-*' PLANS_KEEP=/tmp go test -count=1 -v -run TestPlans ./plans
//
// The files: case.go reads cases, player.go plays them; write.go describes writes, planned.go those of a plan and
// actual.go those of a control plane, of which audit.go knows who made them; path.go makes objects of the changes of a
// plan; compare.go compares.
package plans
