package controllers

import (
	"crypto"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// allControllers selects all controllers that run here and are not off by default, as in kube-controller-manager.
const allControllers = "*"

// UnknownError is the error for a name that no controller has.
type UnknownError struct {
	Name string
	// Known are all names and aliases, sorted, those of controllers that do not run here included.
	Known []string
}

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no controller %q in kube-controller-manager", e.Name)
}

// NotRunError is the error for a controller that is known and cannot run here.
type NotRunError struct {
	// Name is kube-controller-manager's.
	Name string
	// Reason is Controller.NotRun or what Controller.MissingAuthority returns.
	Reason string
}

// Error implements error.
func (e *NotRunError) Error() string {
	return fmt.Sprintf("controller %q does not run here: %s", e.Name, e.Reason)
}

// Select returns the controllers that args name, each once, in the order in which they are started. An argument is a
// name or an alias, "*" for all that run here and are not off by default, or "-name" to leave one out. Of two arguments
// for the same controller the first wins, and both win over "*", wherever that is: as among the values of
// kube-controller-manager's --controllers (IsControllerEnabled of k8s.io/controller-manager/app). The error is an
// *UnknownError or a *NotRunError for the first argument that cannot be met; "-name" of a controller that does not run
// here is no error.
func Select(args []string) ([]Controller, error) {
	all := false
	named := map[string]bool{} // by name: whether the controller is to run
	for _, arg := range args {
		name, out := strings.CutPrefix(arg, "-")
		if name == allControllers && !out {
			all = true
			continue
		}
		c, err := findController(name)
		if err != nil {
			return nil, err
		}
		if _, before := named[c.Name]; before {
			continue
		}
		if !out && !c.Runs() {
			return nil, &NotRunError{Name: c.Name, Reason: c.NotRun}
		}
		named[c.Name] = !out
	}
	return slices.DeleteFunc(running(), func(c Controller) bool {
		wanted, explicit := named[c.Name]
		if explicit {
			return !wanted
		}
		return !all || c.OffByDefault
	}), nil
}

// ByName is Select for options that are written down in one expression: it returns an error of Select as a controller
// that Start refuses with this error.
func ByName(args ...string) []Controller {
	selected, err := Select(args)
	if err != nil {
		return []Controller{{unmet: err}}
	}
	return selected
}

// SkippedController is a controller that is not run, and why: SelectFor skips one that lacks something of the authority
// that it needs.
type SkippedController struct {
	Controller
	// Reason is half a sentence about the controller, such as what Controller.MissingAuthority returns.
	Reason string
}

// SelectFor is Select for a user with the authority a. Of what "*" selects it skips the controllers for which something
// of the authority is missing, and returns these as well, in the same order. If such a controller is named itself, the
// error is a *NotRunError.
func SelectFor(a Authority, args []string) (chosen []Controller, left []SkippedController, err error) {
	selected, err := Select(args)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range selected {
		missing := c.MissingAuthority(a)
		switch {
		case missing == "":
			chosen = append(chosen, c)
		case c.Named(args):
			return nil, nil, &NotRunError{Name: c.Name, Reason: missing}
		default:
			left = append(left, SkippedController{Controller: c, Reason: missing})
		}
	}
	return chosen, left, nil
}

// Named reports whether one of args, as Select takes them, is a name or an alias of the controller. "*" and "-name" are
// not.
func (c Controller) Named(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(c.names(), arg) })
}

// Without returns args, as Select takes them, changed so that Select no longer finds the controllers out. It returns
// nothing if args named no others.
func Without(args []string, out []Controller) []string {
	rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return slices.ContainsFunc(out, func(c Controller) bool { return c.Named([]string{arg}) })
	})
	for _, c := range out {
		if slices.Contains(args, allControllers) && !c.OffByDefault {
			rest = append(rest, "-"+c.Short)
		}
	}
	return rest
}

// runningTable is what running returns, made once: For and ByShort are called for each object.
var runningTable = sync.OnceValue(running)

// For returns the controller without which objects of a kind do not become ready; false for kinds that have none.
func For(kind schema.GroupKind) (Controller, bool) {
	return findRunning(func(c *Controller) bool {
		return c.MakesReady && slices.ContainsFunc(c.Keys, func(k ObjectKind) bool { return k.GroupKind() == kind })
	})
}

// ByShort returns the controller with that short name; false if none that runs here has it.
func ByShort(short string) (Controller, bool) {
	return findRunning(func(c *Controller) bool { return c.Short == short })
}

func findRunning(is func(*Controller) bool) (Controller, bool) {
	table := runningTable()
	for i := range table {
		if is(&table[i]) {
			return table[i], true
		}
	}
	return Controller{}, false
}

// findController returns the controller of that name or alias.
func findController(name string) (Controller, error) {
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

// Authority holds the keys and certificates that kube-controller-manager is started with on a control plane, and which
// no API returns. The zero value is that of a user who has only the credentials of a client.
type Authority struct {
	// RootCA holds the certificates, in PEM, by which pods verify the API server; nil if they are not known.
	RootCA []byte
	// ServiceAccountKey signs the tokens of service accounts; nil if it is not known.
	ServiceAccountKey crypto.Signer
	// SigningCertFile and SigningKeyFile hold the certificate and the key, in PEM, that certificate signing requests
	// are signed with. Both or none are set.
	SigningCertFile, SigningKeyFile string
}

// The reasons that Controller.MissingAuthority returns.
const (
	MissingRootCA            = "it publishes the certificate that the API server is known by, which is not given"
	MissingServiceAccountKey = "it signs with the private key of service accounts, which is not given"
	MissingSigningAuthority  = "it signs with the certificate and the key of an authority, which are not given"
)

func missingRootCA(a Authority) string {
	if len(a.RootCA) == 0 {
		return MissingRootCA
	}
	return ""
}

func missingServiceAccountKey(a Authority) string {
	if a.ServiceAccountKey == nil {
		return MissingServiceAccountKey
	}
	return ""
}

func missingSigningAuthority(a Authority) string {
	if a.SigningCertFile == "" || a.SigningKeyFile == "" {
		return MissingSigningAuthority
	}
	return ""
}

// Unserved returns the resources that the controller reads and that are served in no version that it can read, as may
// be the case on an older API server. The controller cannot run then. It returns nil if all are served.
func (c Controller) Unserved(served func(schema.GroupVersionResource) bool) []schema.GroupResource {
	var out []schema.GroupResource
	for _, r := range c.Reads {
		readable := func(version string) bool { return served(r.WithVersion(version)) }
		if r.Resource != "*" && !slices.ContainsFunc(readableVersions(r), readable) {
			out = append(out, r)
		}
	}
	return out
}

// readableVersions returns the versions of a resource that its controllers can read; one of them is enough. Upstream's
// controllers have an informer for one version; the publisher of trust bundles takes the newest that is served.
func readableVersions(r schema.GroupResource) []string {
	switch r {
	case schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:
		return []string{"v2"}
	case schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}:
		return []string{"v1beta1"}
	case schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:
		return []string{"v1", "v1beta1", "v1alpha1"}
	}
	return []string{"v1"}
}
