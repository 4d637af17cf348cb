package controllers

import (
	"crypto"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// allControllers stands for all controllers that run here and are not off by default, as in kube-controller-manager.
const allControllers = "*"

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
// name or an alias, "*" for all that run here and are not off by default, or "-name" to leave one out. Of two arguments
// for the same controller the first counts, and each counts more than "*", wherever that stands: as among the values of
// kube-controller-manager's --controllers (IsControllerEnabled of k8s.io/controller-manager/app). It fails with an
// *UnknownError or a *NotRunError for the first argument that cannot be met; leaving out what does not run anyway is no
// error.
func Select(args []string) ([]Controller, error) {
	all := false
	asked := map[string]bool{} // by name: whether it is wanted
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
		if _, before := asked[c.Name]; before {
			continue
		}
		if !out && !c.Runs() {
			return nil, &NotRunError{Name: c.Name, Reason: c.NotRun}
		}
		asked[c.Name] = !out
	}
	return slices.DeleteFunc(running(), func(c Controller) bool {
		wanted, explicit := asked[c.Name]
		if explicit {
			return !wanted
		}
		return !all || c.OffByDefault
	}), nil
}

// SkippedController is a controller that was left out because something of the authority that it needs is missing.
type SkippedController struct {
	Controller
	// Reason is what Controller.Lacks says.
	Reason string
}

// SelectFor is Select for somebody who has the authority a. Of what "*" stands for it leaves out the controllers that
// lack something, and returns them too, in the same order. One that is named itself and lacks something is an error, a
// *NotRunError.
func SelectFor(a Authority, args []string) (chosen []Controller, left []SkippedController, err error) {
	selected, err := Select(args)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range selected {
		lack := c.MissingAuthority(a)
		switch {
		case lack == "":
			chosen = append(chosen, c)
		case c.Named(args):
			return nil, nil, &NotRunError{Name: c.Name, Reason: lack}
		default:
			left = append(left, SkippedController{Controller: c, Reason: lack})
		}
	}
	return chosen, left, nil
}

// Named reports whether one of args, as Select takes them, is a name or an alias of the controller: "*" is none, and neither
// is "-name".
func (c Controller) Named(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(c.names(), arg) })
}

// Without is args, as Select takes them, changed so that Select finds what it found but these controllers. Nothing is left of
// args that name no others.
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

// Authority is what kube-controller-manager is started with on a control plane, and what no API tells: the keys and the
// certificates that it signs with. Its zero value is that of somebody who has only a client's credentials.
type Authority struct {
	// RootCA are the certificates, in PEM, by which pods know the API server; nil if they are not known.
	RootCA []byte
	// ServiceAccountKey signs the tokens of service accounts; nil if it is not known.
	ServiceAccountKey crypto.Signer
	// SigningCertFile and SigningKeyFile hold the certificate and the key, in PEM, that certificate signing requests are
	// signed with. Both or none are set.
	SigningCertFile, SigningKeyFile string
}

// What Controller.Lacks says, and NotRunError.Reason.
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

// Unserved returns which of the resources that the controller reads are not served in a version that it can read, so that it
// cannot run: an API server that is older has not all. served is asked for each; nil is returned if nothing is missing.
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

// readableVersions are those of a resource that its controllers can read, any of which does. Upstream's controllers have an
// informer of one version each; the publisher of trust bundles takes the newest that there is.
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
