package connect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Compare orders targets by kind, namespace and name.
func (t Target) Compare(other Target) int {
	return cmp.Or(t.Target.Compare(other.Target), cmp.Compare(t.Name, other.Name))
}

// Where says where a target was looked for: ` in namespace "shop"`, or nothing for kinds without namespaces. all says
// that all namespaces were asked for.
func (t Target) Where(all bool) string {
	switch {
	case t.Namespace != "":
		return fmt.Sprintf(" in namespace %q", t.Namespace)
	case all && t.Kind.Namespaced:
		return " in all namespaces"
	}
	return ""
}

// Permitted is advice on how to see what may be read, as the same user in the same namespace.
func (c *Connection) Permitted() string {
	command := []string{"kubectl auth can-i --list"}
	if c.enforced {
		command = append(command, "-n", c.Namespace)
	}
	if as := c.Config.Impersonate; as.UserName != "" {
		command = append(command, "--as", cli.ShellQuoted(as.UserName))
		for _, group := range as.Groups {
			command = append(command, "--as-group", cli.ShellQuoted(group))
		}
	}
	return "`" + strings.Join(command, " ") + "` shows what is permitted"
}

// ForbiddenError says in one sentence what may not be read. The targets are sorted and not none.
func (c *Connection) ForbiddenError(targets []Target, all bool) error {
	verb := "list"
	var names []string
	where := ""
	for _, t := range targets {
		names = cli.AppendNew(names, t.Kind.GroupResource().String())
		where = cmp.Or(where, t.Where(all))
		if t.Name != "" {
			verb = "get"
		}
	}
	hint := c.Permitted()
	if all {
		hint += "; a single namespace, by -n, may be"
	}
	return cli.WithHint(fmt.Errorf("no permission to %s %s%s", verb, cli.Enumerate(names), where), hint)
}

// ExplainReading says why one target could not be read.
func (c *Connection) ExplainReading(t Target, err error) error {
	explained := c.Explain(err)
	if explained != err { //nolint:errorlint // is it the very same?
		return explained // it is about the cluster, whatever was read
	}
	if t.Name != "" {
		return fmt.Errorf("reading %s %q%s: %w", t.Kind, t.Name, t.Where(false), err)
	}
	return fmt.Errorf("listing %s%s: %w", t.Kind.GroupResource(), t.Where(false), err)
}

// ExplainEach explains each of the errors that err joins.
func (c *Connection) ExplainEach(err error) error {
	if err == nil {
		return nil
	}
	errs := cli.Flatten(err)
	for i := range errs {
		errs[i] = c.Explain(errs[i])
	}
	return errors.Join(errs...)
}

// DescribeIncomplete says what could not be read, in a line for each cause. Texts are of the cluster, not escaped.
func DescribeIncomplete(all []cluster.Incomplete) []string {
	type cause struct{ text, message string }
	var causes []cause
	resources := map[cause][]string{}
	for _, i := range all {
		c := cause{text: incompleteText(i.Reason)}
		if i.Reason != cluster.ReasonForbidden && i.Reason != cluster.ReasonUnauthorized {
			c.message = i.Message
		}
		if _, known := resources[c]; !known {
			causes = append(causes, c)
		}
		resources[c] = cli.AppendNew(resources[c], IncompleteName(i))
	}
	slices.SortFunc(causes, func(a, b cause) int {
		return cmp.Or(
			cmp.Compare(a.text, b.text), cmp.Compare(resources[a][0], resources[b][0]), cmp.Compare(a.message, b.message))
	})
	var out []string
	for _, c := range causes {
		line := fmt.Sprintf("incomplete: %s %s", c.text, cli.Enumerate(resources[c]))
		if c.message != "" {
			line += ": " + c.message
		}
		out = append(out, line)
	}
	return out
}

// IncompleteNews is what to say when other lines tell what is incomplete than before; nothing if they are the same.
func IncompleteNews(before, now []string) []string {
	switch {
	case slices.Equal(before, now):
		return nil
	case len(now) == 0:
		return []string{"complete: all can be read again"}
	}
	return now
}

func incompleteText(reason string) string {
	switch reason {
	case cluster.ReasonForbidden:
		return "no permission to list"
	case cluster.ReasonUnauthorized:
		return "not logged in for"
	case cluster.ReasonDiscovery:
		return "the kinds are not known of"
	case cluster.ReasonTimeout, cluster.ReasonUnavailable:
		return "no answer for"
	case cluster.ReasonTooMany:
		return "not all was read of"
	}
	return "could not list"
}

func IncompleteName(i cluster.Incomplete) string {
	switch {
	case i.Resource == "" && i.Group == "":
		return i.Version
	case i.Resource == "":
		return i.Group + "/" + i.Version
	case i.Group == "":
		return i.Resource
	}
	return i.Resource + "." + i.Group
}
