package controllers

import (
	"fmt"
	"slices"
	"strings"
)

// everything stands for all controllers that run here and are not off by default.
const everything = "*"

// UnknownError says that no controller has the name.
type UnknownError struct {
	Name string
	// Known are the names and aliases that there are, sorted, those of controllers that do not run here included.
	Known []string
}

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no controller %q in kube-controller-manager", e.Name)
}

// NotRunError says that the controller is known and does not run here.
type NotRunError struct {
	// Name is kube-controller-manager's.
	Name string
	// Reason is why, as in Controller.NotRun.
	Reason string
}

// Error implements error.
func (e *NotRunError) Error() string {
	return fmt.Sprintf("controller %q does not run here: %s", e.Name, e.Reason)
}

// Select finds the controllers that args name, in the order in which they are started and each once. An argument is a
// name or an alias, "*" for all that run here, or "-name" to leave one out, wherever it stands: as the values of
// kube-controller-manager's --controllers. It fails with an *UnknownError or a *NotRunError for the first argument that
// cannot be met; leaving out what does not run anyway is no error.
func Select(args []string) ([]Controller, error) {
	chosen, left := map[string]bool{}, map[string]bool{}
	for _, arg := range args {
		name, out := strings.CutPrefix(arg, "-")
		if name == everything && !out {
			for _, c := range running() {
				chosen[c.Name] = chosen[c.Name] || !c.OffByDefault
			}
			continue
		}
		c, err := find(name)
		switch {
		case err != nil:
			return nil, err
		case out:
			left[c.Name] = true
		case !c.Runs():
			return nil, &NotRunError{Name: c.Name, Reason: c.NotRun}
		default:
			chosen[c.Name] = true
		}
	}
	return slices.DeleteFunc(running(), func(c Controller) bool { return !chosen[c.Name] || left[c.Name] }), nil
}

// find returns the controller of that name or alias.
func find(name string) (Controller, error) {
	var known []string
	for _, c := range All() {
		if slices.Contains(c.names(), name) {
			return c, nil
		}
		known = append(known, c.names()...)
	}
	slices.Sort(known)
	return Controller{}, &UnknownError{Name: name, Known: known}
}
