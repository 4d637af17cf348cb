// Package apihealth observes whether an API server answers, and whether it accepts the client's credentials, by the
// results of the requests that clients make anyway. It sends no requests and changes none: retrying is left to
// client-go.
package apihealth
