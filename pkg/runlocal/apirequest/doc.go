// Package apirequest reads what passes between clients and an API server, for RoundTrippers: which request it is, as the server
// itself would find out, and the beginning of an answer. It sends and changes nothing.
package apirequest
