package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// targetFlags say which objects a command is about, beside its arguments, as `kubectl get` has them.
type targetFlags struct {
	all            bool
	labels, fields string
	manifests      *manifestFlags
}

func newTargetFlags() *targetFlags {
	return &targetFlags{manifests: newManifestFlags("files, directories or URLs that name the objects; - is stdin")}
}

func (f *targetFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.StringVarP(&f.labels, "selector", "l", "",
		"only objects with these labels, such as app=web,tier!=test or 'app in (a,b)'")
	flags.StringVar(&f.fields, "field-selector", "",
		"only objects with these fields, such as metadata.name=web; each kind has its own")
	f.manifests.addTo(flags)
}

// targetArgs are what a command line names, as it is written.
type targetArgs struct {
	types   []string    // whole kinds, or categories
	objects []objectArg // single ones
}

// objectArg is TYPE/NAME.
type objectArg struct{ typeName, name string }

// empty says that nothing was named.
func (a targetArgs) empty() bool { return len(a.types)+len(a.objects) == 0 }

// parse reads the arguments, and refuses what kubectl refuses, in words like kubectl's.
func (f *targetFlags) parse(args []string) (targetArgs, error) {
	out, err := parseTargets(args)
	if err != nil {
		return targetArgs{}, err
	}
	switch byName := len(out.objects) > 0; {
	case f.manifests.given() && !out.empty():
		return out, errors.New("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
	case f.manifests.given() && (f.labels != "" || f.fields != ""):
		return out, errors.New("-l and --field-selector select among the objects of a cluster, not of -f or -k")
	case byName && f.all:
		return out, withHint(errors.New("a resource cannot be retrieved by name across all namespaces"),
			"-n NAMESPACE says where it is; -A --field-selector metadata.name=NAME finds all of that name")
	case byName && (f.labels != "" || f.fields != ""):
		return out, errors.New("name cannot be provided when a selector is specified")
	}
	return out, f.validSelectors()
}

func (f *targetFlags) validSelectors() error {
	if _, err := labels.Parse(f.labels); err != nil {
		return withHint(fmt.Errorf("the label selector %q is not valid: %w", f.labels, err),
			"for example app=web,tier!=test or 'app in (a,b)'")
	}
	if _, err := fields.ParseSelector(f.fields); err != nil {
		return withHint(fmt.Errorf("the field selector %q is not valid: %w", f.fields, err),
			"for example metadata.name=web,status.phase!=Running")
	}
	return nil
}

// parseTargets reads TYPE[,TYPE…], TYPE[,TYPE…] NAME… and TYPE/NAME….
func parseTargets(args []string) (targetArgs, error) {
	slashes := 0
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			slashes++
		}
	}
	switch {
	case len(args) == 0:
		return targetArgs{}, nil
	case slashes == len(args):
		return parsePairs(args)
	case slashes > 0:
		return targetArgs{}, withHint(errors.New("TYPE/NAME cannot be mixed with other arguments"),
			"write each as TYPE/NAME, or one TYPE and then names")
	}
	types, err := splitTypes(args[0])
	if err != nil || len(args) == 1 {
		return targetArgs{types: types}, err
	}
	var out targetArgs
	for _, t := range types {
		for _, name := range args[1:] {
			if name == "" {
				return targetArgs{}, errors.New("a name is empty")
			}
			out.objects = appendNew(out.objects, objectArg{t, name})
		}
	}
	return out, nil
}

func parsePairs(args []string) (targetArgs, error) {
	var out targetArgs
	for _, arg := range args {
		typeName, name, _ := strings.Cut(arg, "/")
		switch {
		case strings.Contains(name, "/"):
			return targetArgs{}, fmt.Errorf("%q has more than one slash: it must be TYPE/NAME", arg)
		case typeName == "" || name == "" || strings.Contains(typeName, ","):
			return targetArgs{}, fmt.Errorf("%q must be one TYPE/NAME", arg)
		}
		out.objects = appendNew(out.objects, objectArg{typeName, name})
	}
	return out, nil
}

// splitTypes takes a comma list apart, each type once.
func splitTypes(list string) ([]string, error) {
	var out []string
	for t := range strings.SplitSeq(list, ",") {
		if t == "" {
			return nil, fmt.Errorf("%q has an empty type", list)
		}
		out = appendNew(out, t)
	}
	return out, nil
}

func appendNew[T comparable](list []T, one T) []T {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// target is one object to read, or all of one kind.
type target struct {
	cluster.Target        // Namespace is empty for kinds without one
	Name           string // empty: all of them
}

// resolve finds the kinds of what was named. Whole kinds that are named twice are one target.
func (a targetArgs) resolve(kinds *cluster.Kinds, namespace string) ([]target, error) {
	var out []target
	for _, t := range a.types {
		found, err := kinds.ResolveAll(t)
		if err != nil {
			return nil, err
		}
		for _, kind := range found {
			out = appendTarget(out, newTarget(kind, namespace, ""))
		}
	}
	for _, o := range a.objects {
		kind, err := kinds.Resolve(o.typeName)
		if err != nil {
			return nil, err
		}
		out = appendTarget(out, newTarget(kind, namespace, o.name))
	}
	return out, nil
}

func newTarget(kind cluster.Kind, namespace, name string) target {
	if !kind.Namespaced {
		namespace = ""
	}
	return target{cluster.Target{Kind: kind, Namespace: namespace}, name}
}

func appendTarget(list []target, one target) []target {
	same := func(t target) bool {
		return t.Kind.GVR() == one.Kind.GVR() && t.Namespace == one.Namespace && t.Name == one.Name
	}
	if slices.ContainsFunc(list, same) {
		return list
	}
	return append(list, one)
}

// fromFiles finds the objects that the files name, each in its own namespace, else in that of the command line. The error
// joins those of objects that cannot be looked for; the others are there all the same.
func (f *targetFlags) fromFiles(stdin io.Reader, kinds *cluster.Kinds, c *connection) ([]target, error) {
	manifests, err := f.manifests.read(stdin)
	if err != nil {
		return nil, err
	}
	var out []target
	var errs []error
	for _, m := range manifests {
		one, err := targetOf(m, kinds, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, c.explain(err)))
			continue
		}
		out = appendTarget(out, one)
	}
	return out, errors.Join(errs...)
}

func targetOf(m runlocal.Manifest, kinds *cluster.Kinds, c *connection) (target, error) {
	gvk, name := m.Object.GroupVersionKind(), m.Object.GetName()
	if name == "" {
		return target{}, fmt.Errorf("the %s has no name", gvk.Kind)
	}
	kind, ok, err := kinds.Lookup(gvk)
	switch {
	case err != nil:
		return target{}, err
	case !ok:
		return target{}, unknownKind(gvk, kinds)
	}
	namespace := c.namespace
	if own := m.Object.GetNamespace(); own != "" && kind.Namespaced {
		if c.enforced && own != namespace {
			return target{}, fmt.Errorf("%s %q is in namespace %q, and -n says %q", kind, name, own, namespace)
		}
		namespace = own
	}
	return newTarget(kind, namespace, name), nil
}

// unknownKind is the error of a kind that a file names by its group and version, too.
func unknownKind(gvk schema.GroupVersionKind, kinds *cluster.Kinds) error {
	out := &cluster.UnknownKindError{Name: gvk.GroupVersion().String() + " " + gvk.Kind, Incomplete: kinds.Incomplete()}
	for _, kind := range kinds.All() {
		out.Known = append(out.Known, kind.GroupVersion().String()+" "+kind.Kind)
	}
	return out
}
