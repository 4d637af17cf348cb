// Package access tells what the controllers need to be allowed, what of it the user of a cluster lacks, and as which roles
// that can be given to them.
//
// What a controller needs is upstream's own: the rules of the role that kube-controller-manager's credentials for it have,
// and list and watch of what it reads through shared informers, which kube-controller-manager does under its own name.
// The package asks the API, and refuses nothing by itself.
package access
