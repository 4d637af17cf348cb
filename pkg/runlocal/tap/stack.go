package tap

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// depth is the number of frames of a stack that are read. From a handler to the queue there are about ten.
const depth = 24

type stack [depth]uintptr

// stacks names functions on the stack of the caller, and caches what it finds by the frames. The zero value is ready
// for use. Its methods may be called concurrently.
type stacks struct {
	mu        sync.RWMutex // guards the caches
	handlers  map[stack]string
	reporters map[stack]string
}

// handler returns the names of the controller's functions that led to the call of a queue's method, outermost first. It
// must be called by a function that the queue's method calls.
func (s *stacks) handler() string { return s.name(&s.handlers, handlerOf) }

// reporter returns the name, with its package, of the function that called a method of the queue or of the logger, or
// that reported an error. It must be called by that method.
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

// runlocalPath is the prefix of the paths of this package and its neighbours.
const runlocalPath = "github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/"

// frameworkPackages are the packages whose functions do not belong to a controller, as prefixes of qualified names.
var frameworkPackages = [...]string{
	"runtime.", "runtime/", "testing.", "reflect.", "sync.",
	"k8s.io/client-go/", "k8s.io/apimachinery/", "k8s.io/klog/", "github.com/go-logr/",
	runlocalPath + "engine.", runlocalPath + "controllers.",
}

func isFramework(function string) bool {
	for _, prefix := range frameworkPackages {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return isTap(function)
}

// tapEntryPoints are the functions of this package that upstream calls, as prefixes of their names in the package.
var tapEntryPoints = [...]string{"(*queue[...]).", "(*handler).", "(*sink).", "handleError", "(*TimedWork)."}

// isTap reports whether a function is one of this package that upstream calls.
func isTap(function string) bool {
	rest, ok := strings.CutPrefix(function, runlocalPath+"tap.")
	return ok && slices.ContainsFunc(tapEntryPoints[:], func(hook string) bool { return strings.HasPrefix(rest, hook) })
}

// workerLoops are the functions between the goroutines of controllers and the work on a key.
// Below the first line each is of the package of pkg/controller that is named above it.
var workerLoops = [...]string{
	"Run", "worker", "runWorker", "processNextWorkItem", "processNextItem",
	// garbagecollector
	"runProcessGraphChanges", "processAttemptToDeleteWorker", "processAttemptToOrphanWorker",
	// daemon
	"runNodeUpdateWorker", "processNextNodeUpdate",
	// job
	"orphanWorker", "processNextOrphanPod",
	// disruption
	"recheckWorker", "processNextRecheckWorkItem",
	"stalePodDisruptionWorker", "processNextStalePodDisruptionWorkItem",
	// endpoint
	"podWorker", "processNextPodWorkItem",
	// endpointslice
	"serviceQueueWorker", "processNextServiceWorkItem", "podQueueWorker", "topologyQueueWorker",
	"processNextTopologyWorkItem",
	// volume/persistentvolume
	"volumeWorker", "processNextVolumeWorkItem", "claimWorker", "processNextClaimWorkItem",
	// volume/pvcprotection
	"runMainWorker", "runProcessNamespaceWorker", "processPVCsByNamespace",
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

// shortName returns the last part of a function's name, empty for a closure.
func shortName(function string) string {
	function, _, _ = strings.Cut(strings.ReplaceAll(function, "[...]", ""), "-fm")
	name := function[strings.LastIndexByte(function, '.')+1:]
	numbered := name != "" && name[0] >= '0' && name[0] <= '9'
	if numbered || strings.HasPrefix(name, "func") || strings.HasPrefix(name, "gowrap") {
		return ""
	}
	return name
}

// panicking reports whether the caller was deferred by a function that panics.
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
