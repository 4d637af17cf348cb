// Package guard wraps the transport of clients of a cluster, to limit what they can do there. It works on HTTP
// requests, below every client, so that nothing gets past it: no Event, no Lease, no request that a library makes by
// itself.
//
// [DryRun] lets no write change the cluster. A write is sent as a dry run where the server supports that
// (dryrunsupport.go finds out, markdryrun.go marks the request), and answered without the server otherwise
// (clientdryrun.go).
//
// [LimitNamespaces] lets clients that read all namespaces see only some. Lists of several namespaces are joined page by
// page (limitlist.go), watches frame by frame (limitwatch.go, watchframes.go); watchhistory.go records where each
// namespace is, for watches that continue.
//
// It is no access control: code with other credentials or another transport is not limited.
package guard
