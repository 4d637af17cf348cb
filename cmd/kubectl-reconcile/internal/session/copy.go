package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Read reads the copy. Errors have hints, and name the cluster.
func (c *CopySource) Read(ctx context.Context) (*seed.Copy, error) {
	opened, err := c.Connection.OpenQuietly(ctx)
	if err != nil {
		return nil, err
	}
	defer opened.ShowProgress(ctx, c.Connection.Progress)()
	o := seed.Options{
		Reader: opened.Reader, Kinds: opened.Kinds, Namespaces: c.Namespaces, AllNamespaces: c.AllNamespaces,
		MaxObjects: c.Flags.MaxObjects, WithSecrets: c.Flags.WithSecrets, Neighbours: true,
	}
	if o.MaxObjects == 0 {
		o.MaxObjects = -1
	}
	namespace := c.Connection.Namespace
	if len(c.Namespaces) > 0 {
		namespace = c.Namespaces[0]
	}
	targets, err := c.Objects.Resolve(opened.Kinds, namespace)
	if err != nil {
		return nil, c.Connection.Explain(err)
	}
	for _, t := range targets {
		o.Roots = append(o.Roots, seed.Root{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	if len(targets) > 0 {
		o.Namespaces = nil
	} else if len(o.Namespaces) == 0 && !o.AllNamespaces {
		o.Namespaces = []string{namespace}
	}
	out, err := seed.Read(ctx, o)
	return out, ExplainCopy(ctx, c.Connection, opened, err)
}

// ExplainCopy adds advice to an error of seed.Read.
func ExplainCopy(ctx context.Context, c *connect.Connection, opened *connect.Cluster, err error) error {
	if absent, ok := errors.AsType[*seed.NotFoundError](err); ok {
		return opened.NotFound(ctx, connect.NewTarget(absent.Kind, absent.Namespace, absent.Name))
	}
	if tooMany, ok := errors.AsType[*seed.TooManyObjectsError](err); ok {
		return cli.WithHint(fmt.Errorf("copying a part of %s: %w", c.Endpoint(), tooMany),
			"name fewer namespaces, or permit more by --max-objects")
	}
	if unreadable, ok := errors.AsType[*seed.UnreadableError](err); ok {
		return cli.WithHint(fmt.Errorf("copying a part of %s: %w", c.Endpoint(), unreadable), c.PermissionHint())
	}
	return c.Explain(err)
}

// copyNames is how many objects of a kind -v names; -vv names all.
const copyNames = 8

// copiedText says what was copied.
func (c *CopySource) copiedText(of *seed.Copy, version string) string {
	what := "all namespaces"
	if !of.AllNamespaces {
		what = cli.PluralOf(len(of.Namespaces), "namespace ", "namespaces ") + cli.Enumerate(of.Namespaces)
	}
	if len(of.Namespaces) == 0 {
		what = "what is in no namespace"
	}
	return fmt.Sprintf("copied: %s of %s, Kubernetes %s; %s", what, c.Connection.Endpoint(), version,
		cli.Plural(len(of.Objects), "object"))
}

// kindLines lists the objects of a copy, a line for each kind.
func kindLines(of *seed.Copy, detail render.Detail) []string {
	var out []string
	at := 0
	for _, count := range of.Counts() {
		var names []string
		for _, o := range of.Objects[at : at+count.Objects] { // sorted as the counts are
			name := o.Name
			if o.Namespace != "" && len(of.Namespaces) != 1 {
				name = o.Namespace + "/" + o.Name
			}
			names = append(names, name)
		}
		at += count.Objects
		text := strings.Join(names, ", ")
		if more := len(names) - copyNames; detail < render.Everything && more > 0 {
			text = fmt.Sprintf("%s and %d more", strings.Join(names[:copyNames], ", "), more)
		}
		out = append(out, fmt.Sprintf("  %s (%d): %s", count.Kind.GroupResource(), count.Objects, text))
	}
	return out
}

// CopyLines says what a copy, and a session that begins with it, do without: a line for each cause.
func CopyLines(of *seed.Copy, report runlocal.CopyReport) []string {
	lines := connect.DescribeIncomplete(of.Incomplete)
	for _, l := range of.LeftOut {
		resource := schema.GroupResource{Group: l.Group, Resource: l.Resource}
		name := resource.String()
		if l.Name != "" {
			name += "/" + l.Name
		} else if l.Objects > 0 {
			name = fmt.Sprintf("%s (%d)", resource, l.Objects)
		}
		lines = append(lines, fmt.Sprintf("not copied: %s: %s", name, l.Message))
	}
	for _, u := range report.Unloaded {
		name := strings.TrimPrefix(u.Namespace+"/"+u.Name, "/")
		lines = append(lines, fmt.Sprintf("not copied: %s %s: %v",
			schema.GroupResource{Group: u.Kind.Group, Resource: u.Resource}, name, u.Err))
	}
	reasons := map[string][]string{}
	var order []string
	for _, c := range report.Controllers {
		if reasons[c.Reason] == nil {
			order = append(order, c.Reason)
		}
		reasons[c.Reason] = append(reasons[c.Reason], c.Short)
	}
	for _, reason := range order {
		lines = append(lines, fmt.Sprintf("not run in a copy: %s: %s", strings.Join(reasons[reason], ", "), reason))
	}
	return lines
}

// CopyDocument is what the summary of a run in JSON says of the copy that it began with.
type CopyDocument struct {
	Namespaces    []string `json:"namespaces"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	// Version is that of the cluster's API server.
	Version string `json:"version"`
	// Objects counts the objects that were copied.
	Objects int `json:"objects"`
	// Incomplete is what could not be read, LeftOut what stays in the cluster on purpose, and NotRun which controllers
	// do not run because of that.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
	LeftOut    []seed.LeftOut       `json:"leftOut,omitempty"`
	Unloaded   []UnloadedDocument   `json:"unloaded,omitempty"`
	NotRun     []NotRunDocument     `json:"notRun,omitempty"`
}

// UnloadedDocument is an object that the API of the session does not have.
type UnloadedDocument struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Message   string `json:"message"`
}

// NotRunDocument is a controller that does not run.
type NotRunDocument struct {
	Controller string `json:"controller"`
	Message    string `json:"message"`
}

// NewCopyDocument describes a copy of a cluster of that version, and a session that begins with it.
func NewCopyDocument(of *seed.Copy, version string, report runlocal.CopyReport) *CopyDocument {
	doc := &CopyDocument{
		Namespaces: of.Namespaces, AllNamespaces: of.AllNamespaces, Version: version, Objects: len(of.Objects),
		Incomplete: of.Incomplete, LeftOut: of.LeftOut,
	}
	for _, u := range report.Unloaded {
		unloaded := UnloadedDocument{u.Kind.Group, u.Resource, u.Namespace, u.Name, u.Err.Error()}
		doc.Unloaded = append(doc.Unloaded, unloaded)
	}
	for _, c := range report.Controllers {
		doc.NotRun = append(doc.NotRun, NotRunDocument{c.Short, c.Reason})
	}
	return doc
}

// readCopy reads the copy that the sandbox begins with, and says what it has.
func (s *Sandbox) readCopy(ctx context.Context, o *Options, out *Outputs) error {
	version, err := s.Copy.Connection.ServerVersion(ctx)
	if err != nil {
		return s.Copy.Connection.Explain(err)
	}
	read, err := s.Copy.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return cli.Interruption(ctx, "while the cluster was read")
		}
		return err
	}
	s.Options.Copy, s.Options.Assume, s.copyVersion = read, s.Copy.Flags.Assume, version
	if read.HasKind(schema.GroupResource{Resource: "nodes"}) && !s.Copy.KeepNodes {
		s.Options.Nodes = runlocal.NoNodes
	}
	o.SimulatedNodes = max(0, s.Options.Nodes)
	out.Notef("%s", s.Copy.copiedText(read, version))
	if o.Detail >= render.Verbose {
		out.NoteLines(kindLines(read, o.Detail))
	}
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		out.Warnf("%s", text)
	}
	return nil
}

// copyStarted says what the session does without because it begins with a copy, and keeps it for the summary.
func (s *Sandbox) copyStarted(session *runlocal.Session, o *Options, out *Outputs) {
	report := session.CopyReport()
	out.copied = NewCopyDocument(s.Options.Copy, s.copyVersion, report)
	s.Options.Controllers, _ = runlocal.ControllersForCopy(s.Options.Copy, s.Options.Controllers)
	if o.Detail < render.Verbose {
		report.Controllers = s.Copy.worthMention(report.Controllers)
	}
	out.NoteLines(CopyLines(s.Options.Copy, report))
	s.Options.Copy = nil // it may be large, and the API has its objects
}

// worthMention returns the controllers that are left out because of what this copy lacks, and those that the user has
// named: the others run in no copy.
func (c *CopySource) worthMention(all []controllers.SkippedController) []controllers.SkippedController {
	named := strings.Split(c.Controllers, ",")
	var out []controllers.SkippedController
	for _, left := range all {
		if !runlocal.NeverInCopy(left.Controller) || left.Named(named) {
			out = append(out, left)
		}
	}
	return out
}
