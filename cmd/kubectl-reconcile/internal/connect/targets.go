package connect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// TargetFlags say which objects a command is about, beside its arguments, as `kubectl get` has them.
type TargetFlags struct {
	All            bool
	Labels, Fields string
	Manifests      *ManifestFlags
}

func NewTargetFlags() *TargetFlags {
	return &TargetFlags{Manifests: NewManifestFlags("files, directories or URLs that name the objects; - is stdin")}
}

func (f *TargetFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.All, "all-namespaces", "A", false, "the objects of all namespaces")
	flags.StringVarP(&f.Labels, "selector", "l", "",
		"only objects with these labels, such as app=web,tier!=test or 'app in (a,b)'")
	flags.StringVar(&f.Fields, "field-selector", "",
		"only objects with these fields, such as metadata.name=web; each kind has its own")
	f.Manifests.AddTo(flags)
}

// TargetArgs are what a command line names, as it is written.
type TargetArgs struct {
	Types   []string    // whole kinds, or categories
	objects []objectArg // single ones
}

// objectArg is TYPE/NAME.
type objectArg struct{ typeName, name string }

// Empty says that nothing was named.
func (a TargetArgs) Empty() bool { return len(a.Types)+len(a.objects) == 0 }

// Parse reads the arguments, and refuses what kubectl refuses, in words like kubectl's.
func (f *TargetFlags) Parse(args []string) (TargetArgs, error) {
	out, err := parseTargets(args)
	if err != nil {
		return TargetArgs{}, err
	}
	switch byName := len(out.objects) > 0; {
	case f.Manifests.Given() && !out.Empty():
		return out, errors.New("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
	case f.Manifests.Given() && (f.Labels != "" || f.Fields != ""):
		return out, errors.New("-l and --field-selector select among the objects of a cluster, not of -f or -k")
	case byName && f.All:
		return out, cli.WithHint(errors.New("a resource cannot be retrieved by name across all namespaces"),
			"-n NAMESPACE says where it is; -A --field-selector metadata.name=NAME finds all of that name")
	case byName && (f.Labels != "" || f.Fields != ""):
		return out, errors.New("name cannot be provided when a selector is specified")
	}
	return out, f.validSelectors()
}

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
			out.objects = cli.AppendNew(out.objects, objectArg{t, name})
		}
	}
	return out, nil
}

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
		out.objects = cli.AppendNew(out.objects, objectArg{typeName, name})
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
		out = cli.AppendNew(out, t)
	}
	return out, nil
}

// Target is one object to read, or all of one kind.
type Target struct {
	cluster.Target        // Namespace is empty for kinds without one
	Name           string // empty: all of them
}

// Resolve finds the kinds of what was named. Whole kinds that are named twice are one target.
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

func NewTarget(kind cluster.Kind, namespace, name string) Target {
	if !kind.Namespaced {
		namespace = ""
	}
	return Target{cluster.Target{Kind: kind, Namespace: namespace}, name}
}

func appendTarget(list []Target, one Target) []Target {
	same := func(t Target) bool {
		return t.Kind.GVR() == one.Kind.GVR() && t.Namespace == one.Namespace && t.Name == one.Name
	}
	if slices.ContainsFunc(list, same) {
		return list
	}
	return append(list, one)
}

// FromFiles finds the objects that the files name, each in its own namespace, else in that of the command line. The error
// joins those of objects that cannot be looked for; the others are there all the same.
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
		return Target{}, unknownKind(gvk, kinds)
	}
	namespace := c.Namespace
	if own := m.Object.GetNamespace(); own != "" && kind.Namespaced {
		if c.enforced && own != namespace {
			return Target{}, fmt.Errorf("%s %q is in namespace %q, and -n says %q", kind, name, own, namespace)
		}
		namespace = own
	}
	return NewTarget(kind, namespace, name), nil
}

// unknownKind is the error of a kind that a file names by its group and version, too.
func unknownKind(gvk schema.GroupVersionKind, kinds *cluster.Kinds) error {
	out := &cluster.UnknownKindError{Name: gvk.GroupVersion().String() + " " + gvk.Kind, Incomplete: kinds.Incomplete()}
	for _, kind := range kinds.All() {
		out.Known = append(out.Known, kind.GroupVersion().String()+" "+kind.Kind)
	}
	return out
}

// FieldSelector selects what the target names.
func (t Target) FieldSelector(other string) string {
	if t.Name == "" {
		return other
	}
	return metav1.ObjectNameField + "=" + t.Name
}
