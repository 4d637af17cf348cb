package connect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// TargetFlags are the flags that, besides arguments, select the objects of a command, as `kubectl get` has them.
type TargetFlags struct {
	AllNamespaces  bool
	Labels, Fields string
	Manifests      *ManifestFlags
}

// NewTargetFlags returns TargetFlags that select all objects.
func NewTargetFlags() *TargetFlags {
	return &TargetFlags{Manifests: NewManifestFlags("files, directories or URLs that name the objects; - is stdin")}
}

// AddTo adds the flags to a command.
func (f *TargetFlags) AddTo(cmd *cobra.Command) {
	f.AddSelectors(cmd)
	f.Manifests.AddTo(cmd.Flags())
}

// AddSelectors adds the flags but those of manifests to a command.
func (f *TargetFlags) AddSelectors(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.StringVarP(&f.Labels, "selector", "l", "",
		"only objects with these labels, such as app=web,tier!=test or 'app in (a,b)'")
	flags.StringVar(&f.Fields, "field-selector", "",
		"only objects with these fields, such as metadata.name=web; each kind has its own")
}

// TargetArgs are the arguments of a command that names objects, before their types are resolved to kinds.
type TargetArgs struct {
	Types   []string    // kinds of which all objects are meant, or categories
	objects []objectArg // single objects
}

// objectArg is TYPE/NAME.
type objectArg struct{ typeName, name string }

// Empty reports whether nothing was named.
func (a TargetArgs) Empty() bool { return len(a.Types)+len(a.objects) == 0 }

// Count returns how many single objects were named.
func (a TargetArgs) Count() int { return len(a.objects) }

// Parse parses arguments. It refuses the combinations with flags that kubectl refuses, with the same messages.
func (f *TargetFlags) Parse(args []string) (TargetArgs, error) {
	out, err := parseTargets(args)
	if err != nil {
		return TargetArgs{}, err
	}
	switch byName := len(out.objects) > 0; {
	case f.Manifests.Given() && !out.Empty():
		return out, errors.New(
			"when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
	case f.Manifests.Given() && (f.Labels != "" || f.Fields != ""):
		return out, errors.New("-l and --field-selector select among the objects of a cluster, not of -f or -k")
	case byName && f.AllNamespaces:
		return out, cli.WithHint(errors.New("a resource cannot be retrieved by name across all namespaces"),
			"select its namespace by -n NAMESPACE; -A --field-selector metadata.name=NAME finds all of that name")
	case byName && (f.Labels != "" || f.Fields != ""):
		return out, errors.New("name cannot be provided when a selector is specified")
	}
	return out, f.validSelectors()
}

// validSelectors returns an error if a selector cannot be parsed, before any request is sent.
func (f *TargetFlags) validSelectors() error {
	if _, err := labels.Parse(f.Labels); err != nil {
		return cli.WithHint(fmt.Errorf("the label selector %q is not valid: %w", f.Labels, err),
			"for example app=web,tier!=test or 'app in (a,b)'")
	}
	if _, err := fields.ParseSelector(f.Fields); err != nil {
		return cli.WithHint(fmt.Errorf("the field selector %q is not valid: %w", f.Fields, err),
			"for example metadata.name=web,status.phase!=Running")
	}
	return nil
}

// parseTargets reads TYPE[,TYPE…], TYPE[,TYPE…] NAME… and TYPE/NAME….
func parseTargets(args []string) (TargetArgs, error) {
	slashes := 0
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			slashes++
		}
	}
	switch {
	case len(args) == 0:
		return TargetArgs{}, nil
	case slashes == len(args):
		return parsePairs(args)
	case slashes > 0:
		return TargetArgs{}, cli.WithHint(errors.New("TYPE/NAME cannot be mixed with other arguments"),
			"write each as TYPE/NAME, or one TYPE and then names")
	}
	types, err := splitTypes(args[0])
	if err != nil || len(args) == 1 {
		return TargetArgs{Types: types}, err
	}
	var out TargetArgs
	for _, t := range types {
		for _, name := range args[1:] {
			if name == "" {
				return TargetArgs{}, errors.New("a name is empty")
			}
			out.objects = cli.AppendUnique(out.objects, objectArg{t, name})
		}
	}
	return out, nil
}

// parsePairs parses arguments that are all TYPE/NAME, and removes duplicates.
func parsePairs(args []string) (TargetArgs, error) {
	var out TargetArgs
	for _, arg := range args {
		typeName, name, _ := strings.Cut(arg, "/")
		switch {
		case strings.Contains(name, "/"):
			return TargetArgs{}, fmt.Errorf("%q has more than one slash: it must be TYPE/NAME", arg)
		case typeName == "" || name == "" || strings.Contains(typeName, ","):
			return TargetArgs{}, fmt.Errorf("%q must be one TYPE/NAME", arg)
		}
		out.objects = cli.AppendUnique(out.objects, objectArg{typeName, name})
	}
	return out, nil
}

// splitTypes splits a comma list of types, and removes duplicates.
func splitTypes(list string) ([]string, error) {
	var out []string
	for t := range strings.SplitSeq(list, ",") {
		if t == "" {
			return nil, fmt.Errorf("%q has an empty type", list)
		}
		out = cli.AppendUnique(out, t)
	}
	return out, nil
}

// Target is one object to read, or all objects of a kind.
type Target struct {
	cluster.Target        // Namespace is empty for cluster-scoped kinds, and for all namespaces
	Name           string // empty: all objects
}

// Resolve returns the targets that the arguments name among the kinds that are served, without duplicates.
func (a TargetArgs) Resolve(kinds *cluster.Kinds, namespace string) ([]Target, error) {
	var out []Target
	for _, t := range a.Types {
		found, err := kinds.ResolveAll(t)
		if err != nil {
			return nil, err
		}
		for _, kind := range found {
			out = appendTarget(out, NewTarget(kind, namespace, ""))
		}
	}
	for _, o := range a.objects {
		kind, err := kinds.Resolve(o.typeName)
		if err != nil {
			return nil, err
		}
		out = appendTarget(out, NewTarget(kind, namespace, o.name))
	}
	return out, nil
}

// NewTarget returns a target; namespace is ignored for a cluster-scoped kind.
func NewTarget(kind cluster.Kind, namespace, name string) Target {
	if !kind.Namespaced {
		namespace = ""
	}
	return Target{cluster.Target{Kind: kind, Namespace: namespace}, name}
}

// NamespaceOf returns the namespace of targets; empty if they are cluster-scoped, or in all namespaces.
func NamespaceOf(targets []Target) string {
	for _, t := range targets {
		if t.Namespace != "" {
			return t.Namespace
		}
	}
	return ""
}

// appendTarget appends a target to a list unless the list has it.
func appendTarget(list []Target, one Target) []Target {
	same := func(t Target) bool {
		return t.Kind.GVR() == one.Kind.GVR() && t.Namespace == one.Namespace && t.Name == one.Name
	}
	if slices.ContainsFunc(list, same) {
		return list
	}
	return append(list, one)
}

// FromFiles returns the objects that the files name as targets, each in its own namespace, else in that of the
// connection. If some cannot be resolved, it returns the others, with an error that joins those of each.
func (f *TargetFlags) FromFiles(stdin io.Reader, kinds *cluster.Kinds, c *Connection) ([]Target, error) {
	manifests, err := f.Manifests.Read(stdin)
	if err != nil {
		return nil, err
	}
	var out []Target
	var errs []error
	for _, m := range manifests {
		one, err := targetOf(m, kinds, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, c.Explain(err)))
			continue
		}
		out = appendTarget(out, one)
	}
	return out, errors.Join(errs...)
}

// targetOf returns the object of a manifest as a target. With -n, its namespace must be that, as for kubectl.
func targetOf(m runlocal.Manifest, kinds *cluster.Kinds, c *Connection) (Target, error) {
	gvk, name := m.Object.GroupVersionKind(), m.Object.GetName()
	if name == "" {
		return Target{}, fmt.Errorf("the %s has no name", gvk.Kind)
	}
	kind, ok, err := kinds.Lookup(gvk)
	switch {
	case err != nil:
		return Target{}, err
	case !ok:
		return Target{}, kinds.Unknown(gvk)
	}
	namespace := c.Namespace
	if own := m.Object.GetNamespace(); own != "" && kind.Namespaced {
		if c.namespaceGiven && own != namespace {
			return Target{}, fmt.Errorf("%s %q is in namespace %q, but -n is %q", kind, name, own, namespace)
		}
		namespace = own
	}
	return NewTarget(kind, namespace, name), nil
}

// FieldSelector returns the field selector of the object that the target names; other if it names none.
func (t Target) FieldSelector(other string) string {
	if t.Name == "" {
		return other
	}
	return metav1.ObjectNameField + "=" + t.Name
}

// Compare compares targets by kind, namespace and name, as cmp.Compare does.
func (t Target) Compare(other Target) int {
	return cmp.Or(t.Target.Compare(other.Target), cmp.Compare(t.Name, other.Name))
}

// Where returns where a target was looked for, as the end of a sentence: ` in namespace "shop"`, " in all namespaces"
// if all is true, or nothing for cluster-scoped kinds.
func (t Target) Where(all bool) string {
	switch {
	case t.Namespace != "":
		return fmt.Sprintf(" in namespace %q", t.Namespace)
	case all && t.Kind.Namespaced:
		return " in all namespaces"
	}
	return ""
}
