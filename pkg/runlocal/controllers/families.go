package controllers

import "slices"

// running are the controllers that run, in the order in which they are started: a family's file has its rows.
func running() []Controller {
	return slices.Concat(accounts(), workloads(), services(), housekeeping(), hosts(), volumes(), devices())
}

// workloads make pods, and scale what makes them.
func workloads() []Controller {
	return []Controller{
		deploymentController(), replicaSetController(), replicationController(), statefulSetController(), daemonSetController(),
		jobController(), cronJobController(), ttlAfterFinishedController(), disruptionController(), podAutoscalerController(),
	}
}

// housekeeping removes what is not wanted any more, and counts what is used.
func housekeeping() []Controller {
	return []Controller{garbageCollector(), resourceQuotaController(), namespaceController(), storageVersionMigrator()}
}
