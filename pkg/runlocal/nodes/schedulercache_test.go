package nodes

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// named is a pod with a UID made from its name that requests one CPU.
func named(name string) *corev1.Pod {
	p := podOf(name, requesting(corev1.ResourceCPU, "1"))
	p.UID = types.UID(name)
	return p
}

func bound(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

func TestAssumedPodsCount(t *testing.T) {
	c := cacheOf([]*corev1.Node{nodeOf("a", func(n *corev1.Node) {
		n.Status.Allocatable[corev1.ResourcePods] = *n.Status.Allocatable.Cpu() // 4
	})})
	var mu sync.Mutex
	fitted := 0
	var workers sync.WaitGroup
	for i := range 20 {
		workers.Go(func() {
			if _, why := c.schedule(named(fmt.Sprint(i)), nil, changeCounts{}); why == nil {
				mu.Lock()
				defer mu.Unlock()
				fitted++
			}
		})
	}
	workers.Wait()
	if fitted != 4 {
		t.Errorf("%d pods of 1 CPU were scheduled to a node of 4, want 4: room is taken before a binding is seen", fitted)
	}
}

func TestRoomIsFreed(t *testing.T) {
	ended := bound(named("p"), "a")
	ended.Status.Phase = corev1.PodSucceeded
	tests := []struct {
		name   string
		reason string
		do     func(c *schedulerCache) bool
		freed  bool
		left   int64 // thousandths of a CPU that are taken
	}{
		{"seen bound", "the binding of an assumed pod takes no more room",
			func(c *schedulerCache) bool { return c.setPod(bound(named("p"), "a")) }, false, 1000},
		{"not seen bound", "an assumed pod that is not bound yet keeps its room",
			func(c *schedulerCache) bool { return c.setPod(named("p")) }, false, 1000},
		{"ended", "a pod that ended needs none", func(c *schedulerCache) bool { return c.setPod(ended) }, true, 0},
		{"ended twice", "room is freed once", func(c *schedulerCache) bool { c.setPod(ended); return c.setPod(ended) },
			false, 0},
		{"deleted", "nor does one that is gone", func(c *schedulerCache) bool { return c.removePod("p") }, true, 0},
		{"never seen", "what was not there frees nothing", func(c *schedulerCache) bool { return c.removePod("q") }, false,
			1000},
		{"bound elsewhere", "what counts is where it is",
			func(c *schedulerCache) bool { return c.setPod(bound(named("p"), "b")) }, false, 0},
		{"node gone", "pods outlive their node in the account", func(c *schedulerCache) bool {
			c.removeNode("a")
			c.setNode(nodeOf("a"))
			return false
		}, false, 1000},
		{"node unknown", "a node that was never there can go",
			func(c *schedulerCache) bool { c.removeNode("z"); return false }, false, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cacheOf([]*corev1.Node{nodeOf("a")})
			if _, why := c.schedule(named("p"), nil, changeCounts{}); why != nil {
				t.Fatal(why)
			}
			if freed := tt.do(c); freed != tt.freed {
				t.Errorf("%s: freed = %t, want %t", tt.reason, freed, tt.freed)
			}
			if got := c.nodes["a"].requested[corev1.ResourceCPU]; got != tt.left {
				t.Errorf("%s: %d of a CPU are taken, want %d", tt.reason, got, tt.left)
			}
			if _, ok := c.nodes["z"]; ok {
				t.Errorf("%s: a node is kept that is not there", tt.reason)
			}
		})
	}
}

func TestBackoffOfAttempts(t *testing.T) {
	want := map[int]string{1: "1s", 2: "2s", 3: "4s", 4: "8s", 5: "10s", 100: "10s"}
	for n, d := range want {
		if got := (schedulingAttempts{count: n}).backoff().String(); got != d {
			t.Errorf("after %d tries: %s, want %s", n, got, d)
		}
	}
}
