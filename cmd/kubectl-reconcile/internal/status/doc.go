// Package status is the command `status`: it reads objects of any kinds, and prints which have not caught up with their
// specification, worst first. How an object is judged is in pkg/inspect.
package status
