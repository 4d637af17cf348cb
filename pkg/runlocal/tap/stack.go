package tap

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// depth is how much of a stack is looked at. From a handler down to the queue there are about ten frames.
const depth = 24

type stack [depth]uintptr

// stacks names the functions on the stack. What a stack means is found once. The zero value is ready for use, by any
// number of goroutines.
type stacks struct {
	mu        sync.RWMutex
	handlers  map[stack]string
	reporters map[stack]string
}

// handler names the functions of the controller that led to the call of a queue's method, outermost first. It must be
// called by a function that the queue's method calls.
func (s *stacks) handler() string { return s.name(&s.handlers, handlerOf) }

// reporter names, with its package, the function that called a method of the queue or of the logger, or reported an
// error. It must be called by that method.
func (s *stacks) reporter() string { return s.name(&s.reporters, reporterOf) }

func (s *stacks) name(cache *map[stack]string, find func(*runtime.Frames) string) string {
	var pcs stack
	n := runtime.Callers(3, pcs[:])
	s.mu.RLock()
	name, ok := (*cache)[pcs]
	s.mu.RUnlock()
	if ok {
		return name
	}
	name = find(runtime.CallersFrames(pcs[:n]))
	s.mu.Lock()
	defer s.mu.Unlock()
	if *cache == nil {
		*cache = map[stack]string{}
	}
	(*cache)[pcs] = name
	return name
}

// runlocalPath is where this package and its neighbours are.
const runlocalPath = "github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/"

// frameworkPackages are the packages whose functions say nothing of a controller, by prefix of the qualified name.
var frameworkPackages = [...]string{
	"runtime.", "runtime/", "testing.", "reflect.", "sync.",
	"k8s.io/client-go/", "k8s.io/apimachinery/", "k8s.io/klog/", "github.com/go-logr/", runlocalPath + "engine.", runlocalPath + "controllers.",
}

func isFramework(function string) bool {
	for _, prefix := range frameworkPackages {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return isTap(function)
}

// tapEntryPoints are what upstream calls of this package, after the package's name.
var tapEntryPoints = [...]string{"(*queue[...]).", "(*handler).", "(*sink).", "handleError", "(*TimedWork)."}

// isTap tells this package's part of a stack.
func isTap(function string) bool {
	rest, ok := strings.CutPrefix(function, runlocalPath+"tap.")
	return ok && slices.ContainsFunc(tapEntryPoints[:], func(hook string) bool { return strings.HasPrefix(rest, hook) })
}

// workerLoops are the functions that every controller has between its goroutines and its work.
var workerLoops = [...]string{
	"Run", "worker", "runWorker", "processNextWorkItem", "processNextItem",
	"runProcessGraphChanges", "processAttemptToDeleteWorker", "processAttemptToOrphanWorker", // the garbage collector's
	"runNodeUpdateWorker", "processNextNodeUpdate", // daemonset's
	"orphanWorker", "processNextOrphanPod", // job's
	"recheckWorker", "processNextRecheckWorkItem", "stalePodDisruptionWorker", "processNextStalePodDisruptionWorkItem", // disruption's
	"podWorker", "processNextPodWorkItem", // endpoints'
	"serviceQueueWorker", "processNextServiceWorkItem", "podQueueWorker", "topologyQueueWorker", "processNextTopologyWorkItem", // endpointslice's
	"volumeWorker", "processNextVolumeWorkItem", "claimWorker", "processNextClaimWorkItem", // the volume binder's
	"runMainWorker", "runProcessNamespaceWorker", "processPVCsByNamespace", // pvc-protection's
}

func handlerOf(frames *runtime.Frames) string {
	var names []string
	for {
		f, more := frames.Next()
		switch name := shortName(f.Function); {
		case f.Function == "" || isFramework(f.Function):
			if isTap(f.Function) && len(names) > 0 { // the wrapped handler: what is above it is the informer
				more = false
			}
		case slices.Contains(workerLoops[:], name):
			more = false
		case name != "":
			names = append(names, name)
		}
		if !more {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(slices.Compact(names), " > ")
}

func reporterOf(frames *runtime.Frames) string {
	for {
		f, more := frames.Next()
		if !isFramework(f.Function) {
			return f.Function
		}
		if !more {
			return ""
		}
	}
}

// shortName is the last part of a function's name; empty for a closure, which is named by its number.
func shortName(function string) string {
	function, _, _ = strings.Cut(strings.ReplaceAll(function, "[...]", ""), "-fm")
	name := function[strings.LastIndexByte(function, '.')+1:]
	if strings.HasPrefix(name, "func") || name != "" && name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "gowrap") {
		return ""
	}
	return name
}

// panicking reports whether the calling method was deferred by a function that panics.
func panicking() bool {
	var pcs [4]uintptr
	n := runtime.Callers(3, pcs[:])
	for _, pc := range pcs[:n] {
		if f := runtime.FuncForPC(pc); f != nil && f.Name() == "runtime.gopanic" {
			return true
		}
	}
	return false
}
