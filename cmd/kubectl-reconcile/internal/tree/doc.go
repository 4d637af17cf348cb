// Package tree is the command `tree`: it prints owners and dependents of objects, with their status and with what the garbage
// collector will do. What depends on what is in pkg/ownertree.
package tree
