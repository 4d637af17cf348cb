package timeline

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Recreation is an object that was made and deleted again and again, or the objects of one owner that were.
type Recreation struct {
	// Object is the last one. Names counts the names that they had.
	Object Object `json:"object"`
	Names  int    `json:"names"`
	// Made and Deleted count them. Those that were there at the start do not count.
	Made    int `json:"made"`
	Deleted int `json:"deleted"`
	// PerMinute is how many were made, over the whole time. Absent if there are no times.
	PerMinute float64 `json:"perMinute,omitempty"`
	// Lived is how long those that were deleted existed, on average.
	Lived trace.Duration `json:"lived,omitempty"`
	// Owner is the one that manages them, else the first. Absent without owners.
	Owner *Owner `json:"owner,omitempty"`
	// OwnerUID is that of the object that has the name of the owner, if it is not the one in the owner references: the
	// garbage collector deletes such objects.
	OwnerUID types.UID `json:"ownerUID,omitempty"`
	// Writers are the names of those that made them, sorted; none if they are not known.
	Writers []string `json:"writers,omitempty"`
}

// leastRecreations is how often an object must be made after another one was deleted to be reported.
const leastRecreations = 3

// ownerKey identifies an object by what an owner reference has of it but for the version.
type ownerKey struct{ group, kind, namespace, name string }

// recreations follow which objects are made and deleted.
type recreations struct {
	uids   map[ownerKey]types.UID // of what exists
	groups map[recreationKey]*recreation
}

// recreationKey is an object without an owner, or all objects of a kind that an owner has.
type recreationKey struct {
	name  objectKey
	owner ownerKey
}

type recreation struct {
	Recreation
	objects map[string]*madeObject // by name, at most maxMade
	lived   time.Duration          // together
	// renamed counts the names that were used after another object was deleted, again is how often one name was.
	renamed, again int
}

// madeObject is an object that was made, or several of one name.
type madeObject struct {
	at     time.Time
	exists bool
	again  int
}

func newRecreations() recreations {
	return recreations{map[ownerKey]types.UID{}, map[recreationKey]*recreation{}}
}

// maxMade bounds the names that are remembered of a group.
const maxMade = 1000

func (r *recreations) add(key objectKey, e *Entry) {
	self := ownerKey{e.stream.Group, e.Object.Kind, e.Object.Namespace, e.Object.Name}
	if e.Type == Deleted {
		delete(r.uids, self)
	} else if e.Object.UID != "" {
		r.uids[self] = e.Object.UID
	}
	if e.Type != Added && e.Type != Deleted && !e.Change.Replaced {
		return
	}
	owner := e.mainOwner()
	group := recreationKey{name: key}
	if owner != nil {
		group = recreationKey{objectKey{kind: key.kind}, ownerOf(owner, e.Object.Namespace)}
	}
	g := r.groups[group]
	if g == nil {
		g = &recreation{objects: map[string]*madeObject{}}
		r.groups[group] = g
	}
	if e.Type == Deleted || e.Change.Replaced {
		g.gone(e)
	}
	if e.Type != Deleted {
		g.made(e)
		if g.Owner = owner; owner != nil {
			g.checkOwner(r.uids, group.owner)
		}
	}
}

// mainOwner returns the owner that manages the object of an entry, else its first; nil if it has none.
func (e *Entry) mainOwner() *Owner {
	owners := ownersOf(e.raw)
	i := slices.IndexFunc(owners, func(o Owner) bool { return o.Controller })
	switch {
	case i >= 0:
		return &owners[i]
	case len(owners) > 0:
		return &owners[0]
	}
	return nil
}

// ownerOf returns the key of the owner of an object in a namespace.
func ownerOf(o *Owner, namespace string) ownerKey {
	version, _ := schema.ParseGroupVersion(o.APIVersion) // what is no version has no group
	return ownerKey{version.Group, o.Kind, namespace, o.Name}
}

// gone counts a deletion, but for that of an object that existed before the recording.
func (g *recreation) gone(e *Entry) {
	if o := g.objects[e.Object.Name]; o != nil && o.exists {
		g.Deleted++
		g.lived += e.Time.Sub(o.at)
		o.exists = false
	}
}

func (g *recreation) made(e *Entry) {
	g.Made++
	g.Object, g.Writers = *e.Object, findings.AddName(g.Writers, e.Writer.Name())
	o := g.objects[e.Object.Name]
	if o != nil {
		o.again++
		g.again = max(g.again, o.again)
	} else {
		g.Names++
		if g.Deleted > 0 {
			g.renamed++
		}
		o = &madeObject{}
		if len(g.objects) < maxMade {
			g.objects[e.Object.Name] = o
		}
	}
	o.at, o.exists = e.Time, true
}

// checkOwner compares the uid in the owner reference with that of the owner, which may be cluster-scoped.
func (g *recreation) checkOwner(uids map[ownerKey]types.UID, owner ownerKey) {
	uid := uids[owner]
	if uid == "" {
		owner.namespace = ""
		uid = uids[owner]
	}
	if uid != "" && uid != g.Owner.UID {
		g.OwnerUID = uid
	}
}

// list returns what was made and deleted again and again, or for an owner that has another uid, the most frequent
// first.
func (r *recreations) list(rate func(int) float64) []Recreation {
	var out []Recreation
	for _, g := range r.groups {
		if max(g.again, g.renamed) < leastRecreations && (g.OwnerUID == "" || g.Deleted == 0) {
			continue
		}
		g.PerMinute = rate(g.Made)
		if g.Deleted > 0 {
			g.Lived = trace.Duration(g.lived / time.Duration(g.Deleted))
		}
		out = append(out, g.Recreation)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(b.Made, a.Made), a.Object.Compare(&b.Object)) < 0
	})
	out, _ = cut(out)
	return out
}
