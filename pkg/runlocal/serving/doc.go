// Package serving has what every server of this program needs to be reached safely: a socket with TLS and a certificate made for
// it, files that nobody else may read, and the rule of who may reach it. What is answered, and to whom, is the handler's matter.
package serving
