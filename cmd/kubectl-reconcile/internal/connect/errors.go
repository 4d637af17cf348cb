package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Explain turns an error of a request into one that names the cluster and the cause, with a hint what to do about it.
// It returns err itself if it knows nothing to add, and nil for nil.
func (c *Connection) Explain(err error) error {
	unknown, tooLarge := (*cluster.UnknownKindError)(nil), (*cluster.AnswerTooLargeError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &unknown) && c.Recording != nil:
		return cli.WithHint(fmt.Errorf("no kind %q is known in %s", unknown.Name, c.Recording.Name),
			cli.Suggestion(unknown.Name, unknown.Known, c.notRecorded()))
	case errors.As(err, &unknown):
		return cli.WithHint(fmt.Errorf("no kind %q is served by %s", unknown.Name, c.Config.Host),
			unknownKindHint(unknown))
	case apierrors.IsUnauthorized(err):
		const text = "the credentials%s are not accepted by %s: they have expired, or there are none"
		return cli.WithHint(fmt.Errorf(text, c.userText(), c.Endpoint()),
			"log in again; `kubectl config view --minify` shows what is sent, `kubectl auth whoami` who that is")
	case apierrors.IsForbidden(err):
		return cli.WithHint(err, c.PermissionHint())
	case errors.As(err, &tooLarge):
		err := fmt.Errorf("reading from %s: %w", c.Endpoint(), tooLarge)
		return cli.WithHint(err, "is it an API server of Kubernetes?")
	}
	if cause, hint := c.unreachable(err); cause != "" {
		return cli.WithHint(fmt.Errorf("reaching %s: %s", c.Endpoint(), cause), hint)
	}
	return withCode(err)
}

// withCode adds the code and the reason to the error of a server that failed, which may say anything. It returns err
// itself if it has them, or is another error.
func withCode(err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err
	}
	code := cluster.CodeText(status)
	if strings.HasSuffix(err.Error(), code) {
		return err
	}
	return fmt.Errorf("%w%s", err, code)
}

// unknownKindHint returns a hint that offers kinds with similar names. If there are none, the user may have left out
// the type.
func unknownKindHint(unknown *cluster.UnknownKindError) string {
	more := "`kubectl api-resources` lists them all" + unknownGroups(unknown.Incomplete)
	nearest := cli.Suggest(unknown.Name, unknown.Known)
	if len(nearest) == 0 {
		return "an object is named by TYPE/NAME, for example deploy/web; " + more
	}
	return cli.DidYouMean(nearest, more)
}

// unknownGroups returns the end of a hint: the groups whose kinds are not known, of which the kind may be one.
func unknownGroups(groups []cluster.Incomplete) string {
	if len(groups) == 0 {
		return ""
	}
	var names []string
	for _, g := range groups {
		names = cli.AppendUnique(names, IncompleteName(g))
	}
	return fmt.Sprintf("; the kinds of %s are not known: its server does not answer", cli.Enumerate(names))
}

// server names what is read: the address of the cluster, or the recording.
func (c *Connection) server() string {
	if c.Recording != nil {
		return c.Recording.Name
	}
	return c.Config.Host
}

// Endpoint names the cluster by its address, and by the context that it was found by if there is one.
func (c *Connection) Endpoint() string {
	if c.Recording != nil {
		return c.Recording.Name
	}
	if c.Context == "" {
		return c.Config.Host
	}
	return fmt.Sprintf("%s (context %q)", c.Config.Host, c.Context)
}

// userText names the user of the kubeconfig for a sentence; empty if there is none.
func (c *Connection) userText() string {
	if c.User == "" {
		return ""
	}
	return fmt.Sprintf(" of user %q", c.User)
}

// unreachable returns why no answer came from the cluster, and what to do about it; nothing if err is another error.
func (c *Connection) unreachable(err error) (cause, hint string) {
	const advice = "is it running, and is this the right context? `%s run --sandbox -f FILE` needs no cluster"
	check := fmt.Sprintf(advice, c.Program)
	late, name, operation := (*answerTimeoutError)(nil), (*net.DNSError)(nil), (*net.OpError)(nil)
	switch {
	case errors.As(err, &late):
		return late.Error(), check + "; --request-timeout waits longer"
	case isTimeout(err) && c.Config.Timeout > 0:
		return fmt.Sprintf("no answer within --request-timeout=%s", c.Config.Timeout), check
	case isTimeout(err):
		return "no answer: " + innermost(err), check
	case errors.As(err, &name):
		return fmt.Sprintf("looking up %s: %s", name.Name, name.Err),
			"is the name right, and does it need a VPN? " + check
	}
	if cause, hint := c.credentialPlugin(err); cause != "" {
		return cause, hint
	}
	if cause, hint := tlsFailure(err); cause != "" {
		return cause, hint
	}
	if errors.As(err, &operation) && operation.Op == "dial" {
		return innermost(operation.Err), check
	}
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return request.Err.Error(), check
	}
	return "", ""
}

// isTimeout reports whether err is the end of a deadline, ours or of the network.
func isTimeout(err error) bool {
	timeout := net.Error(nil)
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// innermost returns the text of the innermost error that err wraps.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// tlsFailure returns what is wrong with the certificate or the TLS of the server; nothing if err is another error.
func tlsFailure(err error) (cause, hint string) {
	authority, host, invalid := x509.UnknownAuthorityError{}, x509.HostnameError{}, x509.CertificateInvalidError{}
	verification, record := (*tls.CertificateVerificationError)(nil), tls.RecordHeaderError{}
	switch {
	case errors.As(err, &authority):
		return "its certificate is not trusted: " + authority.Error(),
			"--certificate-authority FILE names the authority that signed it"
	case errors.As(err, &host):
		return "its certificate is for another name: " + host.Error(), "--tls-server-name NAME is the name to expect"
	case errors.As(err, &invalid):
		return "its certificate is not valid: " + invalid.Error(), "is this machine's clock right?"
	case errors.As(err, &verification):
		return "its certificate is not trusted: " + innermost(verification), ""
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS", "is it http:// instead of https://, or another port?"
	}
	return "", ""
}

// credentialPlugin returns what is wrong with the credential plugin of the kubeconfig; nothing if err is another error.
// client-go has no error type for it (plugin/pkg/client/auth/exec).
func (c *Connection) credentialPlugin(err error) (cause, hint string) {
	_, text, found := strings.Cut(err.Error(), "getting credentials: ")
	if !found {
		return "", ""
	}
	text, _, _ = strings.Cut(text, "\n")
	missing, isMissing := strings.CutPrefix(strings.TrimPrefix(text, "exec: "), "executable ")
	missing, isAbsent := strings.CutSuffix(missing, " not found")
	if !isMissing || !isAbsent {
		return "getting credentials: " + text, ""
	}
	hint = "install it, or put it on PATH: the kubeconfig has it for getting credentials"
	if c.Config.ExecProvider != nil && c.Config.ExecProvider.InstallHint != "" {
		hint = cli.OneLine(c.Config.ExecProvider.InstallHint)
	}
	return fmt.Sprintf("getting credentials: there is no program %q", missing), hint
}

// PermissionHint returns a hint how to see what the same user may do in the same namespace, or what was recorded.
func (c *Connection) PermissionHint() string {
	if c.Recording != nil {
		return c.notRecorded()
	}
	command := []string{"kubectl auth can-i --list"}
	if c.namespaceGiven {
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

// ForbiddenError returns the error that targets may not be read, or were not recorded. There must be at least one; all
// is true if all namespaces were to be read.
func (c *Connection) ForbiddenError(targets []Target, all bool) error {
	verb := "list"
	var names []string
	where := ""
	for _, t := range targets {
		names = cli.AppendUnique(names, t.Kind.GroupResource().String())
		where = cmp.Or(where, t.Where(all))
		if t.Name != "" {
			verb = "get"
		}
	}
	hint := c.PermissionHint()
	if c.Recording != nil {
		return c.notRecordedError(targets, names, where)
	}
	if all {
		hint += "; a single namespace, by -n, may be"
	}
	return cli.WithHint(fmt.Errorf("no permission to %s %s%s", verb, cli.Enumerate(names), where), hint)
}

// ReadError returns the error for people that one target could not be read from opened: that it does not exist, as
// Cluster.NotFound does; that it may not be read, as ForbiddenError, for which all is true if all namespaces were to be
// read; what Explain knows of the cluster; else err with the target. It may send requests, for the hint.
func (c *Connection) ReadError(ctx context.Context, opened *Cluster, t Target, all bool, err error) error {
	switch {
	case t.Name != "" && apierrors.IsNotFound(err):
		return opened.NotFound(ctx, t)
	case apierrors.IsForbidden(err):
		return c.ForbiddenError([]Target{t}, all)
	}
	err = withCode(err)
	explained := c.Explain(err)
	if explained != err { //nolint:errorlint // is it the identical error?
		return explained // it is about the cluster, not the target
	}
	if t.Name != "" {
		return fmt.Errorf("reading %s %q%s: %w", t.Kind, t.Name, t.Where(false), err)
	}
	return fmt.Errorf("listing %s%s: %w", t.Kind.GroupResource(), t.Where(false), err)
}

// ExplainEach applies Explain to each of the errors that err joins.
func (c *Connection) ExplainEach(err error) error {
	if err == nil {
		return nil
	}
	errs := cli.FlattenErrors(err)
	for i := range errs {
		errs[i] = c.Explain(errs[i])
	}
	return errors.Join(errs...)
}

// maxMessage bounds the message of an error in a line of DescribeIncomplete, in characters: documents have all of it.
const maxMessage = 160

// FirstError returns the text of the first of the errors that err joins, as cli.OneLine does, cut to maxFirst
// characters, and how many more there are.
func FirstError(err error) string {
	errs := cli.FlattenErrors(err)
	text := inspect.CutText(cli.OneLine(errs[0].Error()), maxFirst, render.Cut)
	if more := len(errs) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// maxFirst bounds the result of FirstError, in characters.
const maxFirst = 300

// DescribeIncomplete returns a line for each cause why something could not be read. Texts of the cluster are not
// escaped.
func DescribeIncomplete(all []cluster.Incomplete) []string {
	type cause struct{ text, message string }
	var causes []cause
	resources := map[cause][]string{}
	for _, i := range all {
		c := cause{text: incompleteText(i)}
		switch i.Reason {
		case cluster.ReasonForbidden, cluster.ReasonUnauthorized, cluster.ReasonNotRecorded:
		default:
			c.message = inspect.CutText(i.Message, maxMessage, render.Cut)
		}
		if _, known := resources[c]; !known {
			causes = append(causes, c)
		}
		resources[c] = cli.AppendUnique(resources[c], IncompleteName(i))
	}
	slices.SortFunc(causes, func(a, b cause) int {
		return cmp.Or(cmp.Compare(a.text, b.text),
			cmp.Compare(resources[a][0], resources[b][0]), cmp.Compare(a.message, b.message))
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

// IncompleteChanges returns the lines to print when the lines of DescribeIncomplete change from before to now; none
// if they are the same.
func IncompleteChanges(before, now []string) []string {
	switch {
	case slices.Equal(before, now):
		return nil
	case len(now) == 0:
		return []string{"complete: all can be read again"}
	}
	return now
}

// incompleteText returns the beginning of a line of DescribeIncomplete.
func incompleteText(i cluster.Incomplete) string {
	switch i.Reason {
	case cluster.ReasonForbidden:
		if strings.Contains(i.Message, " cannot watch resource ") { // a list came before
			return "no permission to watch"
		}
		return "no permission to list"
	case cluster.ReasonUnauthorized:
		return "not logged in for"
	case cluster.ReasonNotRecorded:
		return "not recorded:"
	case cluster.ReasonDiscovery:
		return "could not discover the kinds of"
	case cluster.ReasonTimeout, cluster.ReasonUnavailable:
		return "no answer for"
	case cluster.ReasonTooMany:
		return "could not list all of"
	}
	return "could not list"
}

// IncompleteName names what could not be read: a resource with its group, or a group version of which not even the
// resources are known.
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
