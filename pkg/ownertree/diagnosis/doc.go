// Package diagnosis finds out why an object is not as its spec requests: it follows what is wrong with it down its
// owner tree, and to what it uses, to the causes, and orders these, the likeliest first. It works in steps:
//
//   - Read reads what is of interest around the object: the facts of its tree (package treestatus), what the worst of
//     it uses, that in full, and its Events (situation.go), the attachments of volumes (attachments.go), the
//     autoscaler (scaling.go), its queue (queues.go), whether what should act on it runs (leases.go, operators.go),
//     and what it reports not to exist (notfound.go).
//   - Situation.Diagnose, which reads nothing, looks for causes in all of that (diagnose.go): those that each object
//     itself shows, which package inspect finds, and those that follow from several objects: what is needed and does
//     not exist (needs.go), Services and Ingresses without backends (network.go, ports.go), and deletions that wait
//     (deletion.go). It orders what is left when symptoms and repetitions have gone (explain.go, rank.go).
//   - Situation.ReadRewrites reads an object again that may be written all the time (rewrites.go).
//   - Situation.ReadRefusers reads what the causes say to refuse writes, as it is now (refusals.go, webhooks.go),
//     and why a Deployment is stuck whose controller writes nothing when it is tried (stuck.go).
//
// If the reads leave the cause unsure, Situation.Unsure names the objects whose controllers should be run on a copy or
// in dry run; what became of their writes is handed in as Situation.Trials, and Diagnose called again (unsure.go).
//
// It writes no sentences for people beyond the details that inspect gives, and changes nothing in the cluster.
package diagnosis
