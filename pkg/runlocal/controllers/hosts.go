package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hosts look after nodes and the pods on them.
func hosts() []Controller {
	return []Controller{
		nodeLifecycle(), taintEviction(), podGarbageCollector(), ttlController(), deviceTaintEviction(),
	}
}

// NodeControllers are the settings of the controllers of nodes. The zero value stands for kube-controller-manager's defaults.
type NodeControllerOptions struct {
	// MonitorPeriod is how often the health of nodes is looked at, as by the flag --node-monitor-period; 0 is 5 s.
	MonitorPeriod time.Duration
	// GracePeriod is how long a node may be silent before it is taken for unreachable, as by the flag
	// --node-monitor-grace-period; 0 is 50 s.
	GracePeriod time.Duration
	// EvictionRate is how many nodes a second may be tainted because they are not ready, as by the flag
	// --node-eviction-rate; 0 is 0.1. The first of a zone is tainted at once.
	EvictionRate float32
	// TerminatedPods is how many pods that have ended are left before the oldest are deleted, as by the flag
	// --terminated-pod-gc-threshold; 0 is 12500, less than 0 leaves all.
	TerminatedPods int

	// quarantine is how long a node must have been missing, and collect how often podgc looks; 0 is what podgc has.
	quarantine, collect time.Duration
}

// podsAndNodes are what these controllers read.
func podsAndNodes() []schema.GroupResource {
	return []schema.GroupResource{{Resource: "pods"}, {Resource: "nodes"}}
}
