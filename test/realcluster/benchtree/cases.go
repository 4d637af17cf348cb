package main

import "slices"

// question is one that several programs answer.
type question struct {
	about string
	asks  []command
}

// command is one program's way to ask.
type command struct {
	program string
	args    []string
	// want must be in what it prints, so that no command is measured that does something else.
	want []string
}

// nothing is what each program takes before it does anything.
var nothing = question{"`version`", []command{
	{plugin, []string{"version"}, []string{"Kubernetes"}},
}}

// sized are the questions that are asked at each size of the cluster. No peer is asked for the largest tree:
// kube-lineage, which reads no less for the smaller one, takes minutes to print it.
func sized() []question {
	return []question{
		{"a Deployment", []command{
			{plugin, []string{"tree", "deploy/web-0000", "-n", namespace(0)}, []string{"web-0000"}},
			{lineage, []string{"deploy", "web-0000", "-n", namespace(0)}, []string{"web-0000"}},
		}},
		{"a cluster-scoped owner of 10 Deployments", []command{
			{plugin, []string{"tree", "fleet/" + someFleet}, []string{someFleet, "web-0000", "web-0009"}},
			{lineage, []string{"fleet", someFleet, "-A"}, []string{someFleet, "web-0000", "web-0009"}},
		}},
		{"a cluster-scoped owner of all other Deployments", []command{
			{plugin, []string{"tree", "fleet/" + allFleet}, []string{allFleet}},
		}},
		{"the status of everything", []command{
			{plugin, []string{"status", "-A"}, []string{"web-0000"}},
			{kubectl, []string{"get", "all", "-A"}, []string{"deployment.apps/web-0000", "replicaset.apps/web-0000", "pod/web-0000"}},
		}},
		{"a dry run of Deployments and ReplicaSets until the caches are filled", []command{synced("deployment,replicaset")}},
		{"a dry run of all controllers until the caches are filled", []command{synced("*")}},
	}
}

// synced runs controllers for no longer than it takes them to begin.
func synced(controllers string) command {
	return command{plugin, []string{"run", "--controller", controllers, "--until", "1ms", "-q"}, []string{"ended after"}}
}

// forest is asked of a namespace that holds a separate forest.
var forest = question{"all trees of a namespace", []command{
	{plugin, []string{"tree", "-n", forestNamespace}, []string{"web-"}},
	{kubectl, []string{"get", "all", "-n", forestNamespace}, []string{"deployment.apps/web-", "replicaset.apps/web-", "pod/web-"}},
}}

// of leaves those commands whose programs are there, peers only if they are wanted: at eighty thousand objects they
// take minutes.
func (q question) of(programs map[string]string, peers bool) question {
	q.asks = slices.DeleteFunc(slices.Clone(q.asks), func(c command) bool {
		return programs[c.program] == "" || c.program != plugin && !peers
	})
	return q
}
