// Package apijson reads the lists and watch events that API servers send as JSON, without decoding their objects, which
// a recording keeps byte for byte. It sends no requests.
//
// page.go has lists, event.go watches.
package apijson
