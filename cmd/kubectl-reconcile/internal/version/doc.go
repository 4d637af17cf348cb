// Package version is the command `version`, and knows the versions of the program and of the Kubernetes that it
// carries.
package version
