// Package apirequest is for RoundTrippers between clients and an API server: it parses requests as the server would,
// and reads the beginning of responses. It sends and changes nothing.
package apirequest
