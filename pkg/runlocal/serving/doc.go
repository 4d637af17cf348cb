// Package serving has what every server of this program needs to be reached safely: a socket with TLS (server.go) and a
// certificate made for it (certificate.go), and files that only their owner may read (privatefile.go). [Listen] serves
// a handler, which decides what is served, and to whom.
package serving
