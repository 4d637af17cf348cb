// Package access finds out which permissions controllers need ([Needs], controllerroles.go), which of them the user of
// a cluster lacks ([Checker], missing.go), and which roles and bindings grant those ([Roles], roles.go).
//
// What a controller needs is upstream's: the rules of the role that kube-controller-manager's credentials for it have,
// and list and watch of what it reads through shared informers, which kube-controller-manager does under its own name.
// The package queries the API, and refuses nothing itself.
package access
