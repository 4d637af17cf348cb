// Package reach reports whether an API server answers, and whether it takes our credentials, by what becomes of the requests
// that are made anyway. It makes none of its own and changes none: retrying is left to client-go.
package apihealth
