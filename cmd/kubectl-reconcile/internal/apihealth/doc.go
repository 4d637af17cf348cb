// Package apihealth observes whether an API server answers, and whether it accepts the client's credentials, by the
// results of the requests that clients make anyway. It sends no requests and changes none: retrying is left to
// client-go.
//
// Others read other parts of the same answers: runlocal's listings know whose cache a list was to fill, its
// PermissionMonitor which permission was lost, and package recorder which selection has a gap. Each has its type of
// notice, and rules of when they are repeated: what they have in common is the error, which cluster.Incomplete sorts.
package apihealth
