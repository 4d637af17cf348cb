package run

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// shard is one of several parts that the namespaces of a cluster are divided into. The zero value is no part. It
// implements pflag.Value.
type shard struct {
	number, of int // from 1 to of
}

// mostShards bounds what makes sense: each part has a runner, which watches the whole cluster.
const mostShards = 1000

// Set implements pflag.Value.
func (s *shard) Set(text string) error {
	number, of, found := strings.Cut(text, "/")
	k, errK := strconv.Atoi(number)
	n, errN := strconv.Atoi(of)
	switch {
	case !found || errK != nil || errN != nil:
		return errors.New("must be the number of a part and how many there are, such as 2/5")
	case n < 1 || n > mostShards:
		return fmt.Errorf("there can be 1 to %d parts, not %d", mostShards, n)
	case k < 1 || k > n:
		return fmt.Errorf("there is no part %d of %d: they are numbered from 1", k, n)
	}
	*s = shard{k, n}
	return nil
}

// String implements pflag.Value.
func (s *shard) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.number, s.of)
}

// Type implements pflag.Value.
func (s *shard) Type() string { return "K/N" }

// has reports whether a namespace is in the part: its number is one more than the remainder of the 32-bit FNV-1a hash of the
// name, divided by how many parts there are. What is in no namespace, "", is in part 1.
func (s *shard) has(namespace string) bool {
	if namespace == "" {
		return s.number == 1
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(namespace))                // it cannot fail
	return int(h.Sum32()%uint32(s.of))+1 == s.number //nolint:gosec // G115: at most mostShards
}

// part is what a run has to do with; the zero value is the whole cluster.
type part struct {
	namespaces []string
	shard      shard
}

func (p part) whole() bool { return len(p.namespaces) == 0 && p.shard.of == 0 }

// String says which flag makes it a part.
func (p part) String() string {
	if p.shard.of > 0 {
		return "--shard " + p.shard.String()
	}
	return "--namespaces " + strings.Join(p.namespaces, ",")
}

// described tells of the part at the end of a sentence; empty for the whole cluster.
func (p part) described() string {
	switch {
	case p.whole():
		return ""
	case p.shard.of > 0:
		return "; shard " + p.shard.String() + " of the namespaces"
	}
	return "; " + cli.PluralOf(len(p.namespaces), "namespace ", "namespaces ") + cli.Enumerate(p.namespaces)
}

// narrow leaves out the controllers that do not go with the part, and says so in a line for each reason. list is what
// --controller says: what it names itself and cannot do its work in the part is an error. That a controller does not see all
// is no matter to one that only shows what it would do, if it is asked to.
func (p part) narrow(all []controllers.Controller, list string, write bool) (rest []controllers.Controller, lines []string, err error) {
	named := strings.Split(list, ",")
	var blind, elsewhere, refused []controllers.Controller
	for _, c := range all {
		asked := c.Named(named)
		switch {
		case !p.seesAll(c) && !asked:
			blind = append(blind, c)
		case !p.seesAll(c) && write:
			refused = append(refused, c)
		case p.seesAll(c) && p.isElsewhere(c):
			elsewhere = append(elsewhere, c)
		default:
			rest = append(rest, c)
		}
	}
	if refused != nil {
		return nil, nil, dangerError(refused, list, "with "+p.String()+" not all is seen")
	}
	if blind != nil {
		lines = append(lines, fmt.Sprintf("left out: %s: with %s they would not see all that they act on", cli.Enumerate(shortNames(blind)), p))
	}
	if elsewhere != nil {
		lines = append(lines, fmt.Sprintf("not here: %s, which look at the whole cluster: %s", cli.Enumerate(shortNames(elsewhere)), p.whose()))
	}
	if len(rest) == 0 && len(lines) > 0 {
		return nil, nil, cli.WithHint(fmt.Errorf("--controller %s leaves no controller to run with %s", list, p), lines[0])
	}
	return rest, lines, nil
}

// isElsewhere reports whether a controller is for the whole cluster, and so for another run than that of the part: it is the
// first shard's.
func (p part) isElsewhere(c controllers.Controller) bool {
	return !p.whole() && p.shard.number != 1 && c.ClusterScopedWork
}

// whose says who runs what isElsewhere.
func (p part) whose() string {
	if p.shard.of == 0 {
		return "a run without --namespaces has them"
	}
	return "shard 1 runs them"
}

// seesAll reports whether a controller that must see all does so in this part. Shards see all objects, and get all keys that
// are in no namespace; what they do not get are the changes of objects in other namespaces.
func (p part) seesAll(c controllers.Controller) bool {
	if p.whole() || c.Danger == "" {
		return true
	}
	if p.shard.of == 0 {
		return false
	}
	switch c.Name {
	case names.GarbageCollectorController, names.NodeLifecycleController, names.TaintEvictionController,
		names.DeviceTaintEvictionController:
		return false
	}
	return true
}
