// Package api is a Kubernetes API server inside the process: upstream's REST storage, admission, custom resources,
// discovery and OpenAPI, assembled over the in-memory store of package memstore.
//
// It is for running controllers and trying manifests without a cluster: [Start] starts a [Server], whose Config is for
// clients. For the controllers, too, see package runlocal, which starts one by itself. It is reachable in process
// without a socket (inprocess.go), and with Options.Listen on an address by TLS. It is not a cluster: there is no etcd,
// no proxy to other API servers and no kubelet, so pods do not run, and requests that need a kubelet (logs, exec,
// proxies) are answered with an error that says so (nonetwork.go).
//
// server.go has Start, Stop and what is in between. assembly.go puts the parts together: the API groups (groups.go,
// core.go, customresources.go, aggregation.go, resourcemetrics.go) on their storage (storage.go), authentication and
// authorization (auth.go), admission (admission.go, policies.go), discovery and OpenAPI. commandline.go applies the
// options of a kube-apiserver's command line, for a server that stands in for one. The objects that a cluster starts
// with are created in bootstrap.go, bootstrappolicy.go and serviceips.go; load.go stores those of Options.Objects
// before.
//
// What differs from a cluster, beside that: node ports are allocated in memory; aggregated roles such as `view` are
// filled once and follow no later role unless the clusterrole-aggregation controller runs; and the Service kubernetes
// leads nowhere when the server listens on loopback, for endpoints must not have a loopback address.
//
// Several servers may live in one process. They share only what upstream keeps process-wide: scheme registrations, the
// metrics registry, feature gates (left at their defaults without a command line) and the setting that privileged
// containers are allowed.
package api
