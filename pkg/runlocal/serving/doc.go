// Package serving has what every server of this program needs to be reached safely: a certificate made for it, files that
// nobody else may read, and the rule of who may reach it. It serves nothing itself.
package serving
