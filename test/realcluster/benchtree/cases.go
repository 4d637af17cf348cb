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
	// exit is the code that it ends with: of commands that compare, 1 if there is a difference.
	exit int
}

// nothing is what each program takes before it does anything.
var nothing = question{"`version`", []command{
	{program: plugin, args: []string{"version"}, want: []string{"Kubernetes"}},
}}

// sized are the questions that are asked at each size of the cluster. No peer is asked for the largest tree:
// kube-lineage, which reads no less for the smaller one, takes minutes to print it.
func sized() []question {
	return []question{
		{"a Deployment", []command{
			{program: plugin, args: about("tree", "deploy/web-0000"), want: []string{"web-0000"}},
			{program: lineage, args: []string{"deploy", "web-0000", "-n", firstNamespace}, want: []string{"web-0000"}},
		}},
		{"a cluster-scoped owner of 10 Deployments", []command{
			{
				program: plugin, args: []string{"tree", "fleet/" + someFleet},
				want: []string{someFleet, "web-0000", "web-0009"},
			},
			{
				program: lineage, args: []string{"fleet", someFleet, "-A"},
				want: []string{someFleet, "web-0000", "web-0009"},
			},
		}},
		{"a cluster-scoped owner of all other Deployments", []command{
			{program: plugin, args: []string{"tree", "fleet/" + allFleet}, want: []string{allFleet}},
		}},
		{"why a Deployment is not ready", []command{
			{program: plugin, args: about("why", "deploy/"+broken), want: []string{"cannot pull its image"}},
			{program: kubectl, args: about("describe", "deploy/"+broken), want: []string{"1 unavailable"}},
		}},
		{"why a Deployment is ready", []command{
			{program: plugin, args: about("why", "deploy/web-0000"), want: []string{"nothing is wrong"}},
			{program: kubectl, args: about("describe", "deploy/web-0000"), want: []string{"10 available"}},
		}},
		{"what controllers would do with a Deployment", []command{
			{program: plugin, args: about("diff", "deploy/web-0000"), want: []string{"nothing to do"}},
		}},
		{"what an apply of a Deployment would change", []command{
			{program: plugin, args: about("diff", "-f", manifest), want: []string{"~ Deployment web-0000"}, exit: 1},
			{program: kubectl, args: about("diff", "-f", manifest), want: []string{"web-0000"}, exit: 1},
		}},
		{"the status of everything", []command{
			{program: plugin, args: []string{"status", "-A"}, want: []string{"web-0000"}},
			{
				program: kubectl, args: []string{"get", "all", "-A"},
				want: []string{"deployment.apps/web-0000", "replicaset.apps/web-0000", "pod/web-0000"},
			},
		}},
		{"a dry run of Deployments and ReplicaSets until the caches are filled", []command{
			synced("deployment,replicaset"),
		}},
		{"a dry run of all controllers until the caches are filled", []command{synced("*")}},
	}
}

// about are arguments in the first namespace.
func about(args ...string) []string { return append(args, "-n", firstNamespace) }

// manifest is the file of the first Deployment with another image.
const manifest = "web-0000.json"

// synced runs controllers for no longer than it takes them to begin.
func synced(controllers string) command {
	return command{
		program: plugin, args: []string{"run", "--controller", controllers, "--until", "1ms", "-q"},
		want: []string{"ended after"},
	}
}

// forest is asked of a namespace that holds a separate forest.
var forest = question{"all trees of a namespace", []command{
	{program: plugin, args: []string{"tree", "-n", forestNamespace}, want: []string{"web-"}},
	{
		program: kubectl, args: []string{"get", "all", "-n", forestNamespace},
		want: []string{"deployment.apps/web-", "replicaset.apps/web-", "pod/web-"},
	},
}}

// of leaves those commands whose programs are there, peers only if they are wanted: at eighty thousand objects they
// take minutes.
func (q question) of(programs map[string]string, peers bool) question {
	q.asks = slices.DeleteFunc(slices.Clone(q.asks), func(c command) bool {
		return programs[c.program] == "" || c.program != plugin && !peers
	})
	return q
}
