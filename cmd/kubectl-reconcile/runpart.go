package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

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

// has says whether a namespace is in the part: its number is one more than the remainder of the 32-bit FNV-1a hash of the
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

// timed are the controllers that look at everything from time to time, and know no keys: they are no part of a part but of
// the first.
func timed(name string) bool {
	switch name {
	case names.PodGarbageCollectorController, names.CertificateSigningRequestCleanerController,
		names.PodCertificateRequestCleanerController, names.LegacyServiceAccountTokenCleanerController:
		return true
	}
	return false
}

// without leaves out the controllers that are another part's, and says so; empty if there are none.
func (p part) without(all []controllers.Controller) (rest []controllers.Controller, line string) {
	if p.whole() || p.shard.number == 1 {
		return all, ""
	}
	var out []string
	for _, c := range all {
		if timed(c.Name) {
			out = append(out, c.Short)
			continue
		}
		rest = append(rest, c)
	}
	if out == nil {
		return all, ""
	}
	who := "shard 1 runs them"
	if p.shard.of == 0 {
		who = "a run without --namespaces has them"
	}
	return rest, fmt.Sprintf("not here: %s, which look at the whole cluster by a timer: %s", enumerate(out), who)
}

// seesAll says whether a controller that must see all does so in this part. Shards see all objects, and get all keys that
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
