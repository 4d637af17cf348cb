// Package api is a Kubernetes API server inside the process: upstream's own REST storage, admission, custom resources,
// discovery and OpenAPI, assembled over the in-memory store of package memstore.
//
// It is for running controllers and trying manifests without a cluster: reachable in process without a socket, and, if asked, on
// a loopback address by TLS. It is not a cluster: there is no etcd, no proxy to other API servers and no kubelet, so pods do not
// run, and requests that need a kubelet (logs, exec, proxies) are answered with an error that says so.
//
// What differs from a cluster, beside that: node ports are allocated in memory, and an IPAddress object that somebody deletes is
// not made again; aggregated roles such as `view` are filled once and follow no later role unless the clusterrole-aggregation
// controller runs; priority and fairness is served as objects but limits nobody; and the Service kubernetes leads nowhere when
// the server listens on loopback, for endpoints may not name a loopback address.
//
// Several servers may live in one process. They share only what upstream keeps process-wide: scheme registrations, the
// metrics registry, feature gates (left at their defaults) and the setting that privileged containers are allowed.
package api
