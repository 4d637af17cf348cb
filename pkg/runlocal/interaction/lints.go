package interaction

import (
	"cmp"
	"slices"
	"sort"
)

// lints returns what stands out. watchesKnown is true if Watches of the controllers are complete.
func (r *Recorder) lints(controllers []Controller, watchesKnown bool) []Lint {
	var out []Lint
	for _, lint := range r.contested {
		out = append(out, *lint)
	}
	for i := range controllers {
		c := &controllers[i]
		if c.Program && (len(c.Watches) == 0 || c.Name == "kubectl") {
			continue // a person, or what one has called
		}
		n := r.controllers[nodeKey{c.Name, c.Program}]
		for _, lint := range n.own {
			out = append(out, *lint)
		}
		for kind, count := range n.unowned {
			if kind == leases {
				continue
			}
			out = append(out, Lint{Type: NoOwner, Controller: c.Name, Of: &kind, Count: count})
		}
		if (watchesKnown || c.Program) && !slices.Contains(readsAnyKind, c.Name) {
			out = append(out, unwatchedReads(c)...)
		}
	}
	out = append(out, cycles(controllers)...)
	sort.Slice(out, func(i, j int) bool { return out[i].compare(out[j]) < 0 })
	return out
}

// leases are what leaders are elected by, and heartbeats of nodes: they are read and written without a watch, and have
// no owner.
var leases = Kind{Group: "coordination.k8s.io", Kind: "Lease"}

// readsAnyKind are controllers that watch kinds as they find them, whatever these are.
var readsAnyKind = []string{"garbagecollector", "namespace", "resourcequota"}

// unwatchedReads returns the kinds that a controller reads by requests, and does not watch.
func unwatchedReads(c *Controller) []Lint {
	counts := map[Kind]int{}
	for _, q := range c.Reads {
		watches := slices.ContainsFunc(c.Watches, func(w Watched) bool { return w.Kind == q.Kind })
		if !watches && q.Requests > 0 && q.Kind != leases {
			counts[q.Kind] += q.Requests
		}
	}
	var out []Lint
	for kind, n := range counts {
		out = append(out, Lint{Type: UnwatchedRead, Controller: c.Name, Of: &kind, Count: n})
	}
	return out
}

func (l Lint) compare(o Lint) int {
	of := func(l Lint) Kind {
		if l.Of == nil {
			return Kind{}
		}
		return *l.Of
	}
	types := LintTypes()
	return cmp.Or(
		cmp.Compare(slices.Index(types, l.Type), slices.Index(types, o.Type)), cmp.Compare(o.Count, l.Count),
		cmp.Compare(l.Controller, o.Controller), compareKinds(of(l), of(o)), cmp.Compare(l.Field, o.Field),
		slices.CompareFunc(l.Path, o.Path, func(a, b Step) int { return cmp.Compare(a.Controller, b.Controller) }),
	)
}

// edge is a controller whose writes of a kind made another one reconcile.
type edge struct {
	to    string
	wrote Kind
	count int
}

// cycles returns the shortest cycle of controllers through each edge, each cycle once.
func cycles(controllers []Controller) []Lint {
	edges := map[string][]edge{}
	for i := range controllers {
		for _, w := range controllers[i].Watches {
			for _, by := range w.By {
				if !by.Outside && by.Name != "" && by.Name != controllers[i].Name {
					edges[by.Name] = addEdge(edges[by.Name], edge{controllers[i].Name, w.Kind, by.Reconciles})
				}
			}
		}
	}
	var out []Lint
	for i := range controllers {
		from := controllers[i].Name
		for _, first := range edges[from] {
			lint, ok := shortest(edges, from, first)
			known := func(o Lint) bool { return slices.Equal(lint.Path, o.Path) }
			if ok && !slices.ContainsFunc(out, known) {
				out = append(out, lint)
			}
		}
	}
	return out
}

// addEdge adds an edge, unless there is one to the same controller that is as frequent.
func addEdge(edges []edge, added edge) []edge {
	for i := range edges {
		if edges[i].to == added.to {
			if edges[i].count < added.count {
				edges[i] = added
			}
			return edges
		}
	}
	return append(edges, added)
}

// shortest returns the shortest cycle that begins with an edge, turned so that its first controller comes first by
// name.
func shortest(edges map[string][]edge, from string, first edge) (Lint, bool) {
	type visit struct {
		at   string
		path []Step
		n    int
	}
	seen := map[string]bool{first.to: true}
	queue := []visit{{first.to, []Step{{from, first.wrote}}, first.count}}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, e := range edges[v.at] {
			next := visit{e.to, append(slices.Clone(v.path), Step{v.at, e.wrote}), min(v.n, e.count)}
			if e.to == from {
				byName := func(a, b Step) int { return cmp.Compare(a.Controller, b.Controller) }
				i := slices.Index(next.path, slices.MinFunc(next.path, byName))
				return Lint{
					Type: Cycle, Path: append(slices.Clone(next.path[i:]), next.path[:i]...), Count: next.n,
				}, true
			}
			if !seen[e.to] {
				seen[e.to] = true
				queue = append(queue, next)
			}
		}
	}
	return Lint{}, false
}
