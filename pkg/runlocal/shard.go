package runlocal

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// Shard is one of several parts into which the namespaces of a cluster are divided. The zero value is no shard.
type Shard struct {
	// Number is from 1 to Of.
	Number, Of int
}

// maxShards is arbitrary: each shard has a runner of its own, which watches the whole cluster.
const maxShards = 1000

// ParseShard reads the form of String, such as "2/5".
func ParseShard(text string) (Shard, error) {
	number, of, found := strings.Cut(text, "/")
	k, errK := strconv.Atoi(number)
	n, errN := strconv.Atoi(of)
	switch {
	case !found || errK != nil || errN != nil:
		return Shard{}, errors.New("must be the number of a part and how many there are, such as 2/5")
	case n < 1 || n > maxShards:
		return Shard{}, fmt.Errorf("there can be 1 to %d parts, not %d", maxShards, n)
	case k < 1 || k > n:
		return Shard{}, fmt.Errorf("there is no part %d of %d: they are numbered from 1", k, n)
	}
	return Shard{k, n}, nil
}

// String returns the number and how many there are, such as "2/5"; empty for the zero value.
func (s Shard) String() string {
	if s.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}

// IsZero reports whether s is no shard.
func (s Shard) IsZero() bool { return s.Of == 0 }

// Contains reports whether a namespace is in the shard: its number is one more than the remainder of the 32-bit FNV-1a hash of the
// name, divided by the number of shards. The empty name, of what is in no namespace, is in shard 1. s must not be zero. The
// assignment must never change: runners of different versions may share a cluster.
func (s Shard) Contains(namespace string) bool {
	if namespace == "" {
		return s.Number == 1
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(namespace))                // it never returns an error
	return int(h.Sum32()%uint32(s.Of))+1 == s.Number //nolint:gosec // G115: at most maxShards
}

// Scope is the part of a cluster that a session works in: some namespaces, or a shard of all. At most one of its fields is set; the
// zero value is the whole cluster.
type Scope struct {
	Namespaces []string
	Shard      Shard
}

// IsWhole reports whether it is the whole cluster.
func (s Scope) IsWhole() bool { return len(s.Namespaces) == 0 && s.Shard.IsZero() }

// Keep returns ClusterOptions.Keep: nil for the whole cluster.
func (s Scope) Keep() func(namespace string) bool {
	switch {
	case !s.Shard.IsZero():
		return s.Shard.Contains
	case len(s.Namespaces) > 0:
		return func(namespace string) bool { return slices.Contains(s.Namespaces, namespace) }
	}
	return nil
}

// ScopedControllers are controllers by what becomes of them in a Scope.
type ScopedControllers struct {
	// Run are those that work in the scope.
	Run []controllers.Controller
	// Blind are left out: in the scope they would not see all that they act on.
	Blind []controllers.Controller
	// Elsewhere are left out: they work on the whole cluster, and so in another session.
	Elsewhere []controllers.Controller
	// Refused are as Blind, but were named, and would write.
	Refused []controllers.Controller
}

// Select divides controllers by whether they can work in the scope. named are the values of --controller. A controller that does
// not see all is run if it is named there and write is false: then it does no harm.
func (s Scope) Select(all []controllers.Controller, named []string, write bool) ScopedControllers {
	var out ScopedControllers
	for _, c := range all {
		switch {
		case !s.SeesAll(c) && !c.Named(named):
			out.Blind = append(out.Blind, c)
		case !s.SeesAll(c) && write:
			out.Refused = append(out.Refused, c)
		case s.SeesAll(c) && s.runsElsewhere(c):
			out.Elsewhere = append(out.Elsewhere, c)
		default:
			out.Run = append(out.Run, c)
		}
	}
	return out
}

// runsElsewhere reports whether a controller works on the whole cluster, which only the first shard does.
func (s Scope) runsElsewhere(c controllers.Controller) bool {
	return !s.IsWhole() && s.Shard.Number != 1 && c.ClusterScopedWork
}

// SeesAll reports whether a controller that must see all objects does so in the scope; see controllers.Controller.Danger. A session
// of a shard sees all objects, and gets all keys that are in no namespace; it does not get the changes of objects in namespaces
// of other shards.
func (s Scope) SeesAll(c controllers.Controller) bool {
	if s.IsWhole() || c.Danger == "" {
		return true
	}
	if s.Shard.IsZero() {
		return false
	}
	switch c.Name {
	case names.GarbageCollectorController, names.NodeLifecycleController, names.TaintEvictionController,
		names.DeviceTaintEvictionController:
		return false
	}
	return true
}
