package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// brokenKubeconfig is the error of a kubeconfig that cannot be used.
func brokenKubeconfig(err error) error {
	const hint = "`kubectl config view` shows what is read; KUBECONFIG and --kubeconfig name other files"
	if errors.Is(err, os.ErrNotExist) {
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			err = fmt.Errorf("%s: no such file or directory", path.Path)
		}
	}
	return cli.WithHint(fmt.Errorf("reading the kubeconfig: %w", err), hint)
}

// knownNames refuses a context, cluster or user that the kubeconfig does not have.
func knownNames(flags *genericclioptions.ConfigFlags, raw clientcmdapi.Config, contextName string) error {
	unknown := func(sort, name string, known []string) error {
		slices.Sort(known)
		more := "the kubeconfig has no " + sort
		if len(known) > 0 {
			more = "the kubeconfig has " + sort + " " + cli.Enumerate(known)
		}
		return cli.WithHint(fmt.Errorf("%s %q does not exist", sort, name), cli.Suggestion(name, known, more))
	}
	switch {
	case contextName != "" && raw.Contexts[contextName] == nil && *flags.ClusterName == "" && *flags.APIServer == "":
		return unknown("context", contextName, slices.Collect(maps.Keys(raw.Contexts)))
	case *flags.ClusterName != "" && raw.Clusters[*flags.ClusterName] == nil:
		return unknown("cluster", *flags.ClusterName, slices.Collect(maps.Keys(raw.Clusters)))
	case *flags.AuthInfoName != "" && raw.AuthInfos[*flags.AuthInfoName] == nil:
		return unknown("user", *flags.AuthInfoName, slices.Collect(maps.Keys(raw.AuthInfos)))
	}
	return nil
}

// unconfigured is the error of having nothing that says where a cluster is, where kubectl would try localhost:8080.
func unconfigured(raw clientcmdapi.Config, files []string, program string) error {
	if len(raw.Contexts) > 0 {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		return cli.WithHint(errors.New("no context is selected in the kubeconfig"),
			"--context NAME selects one for a command, `kubectl config use-context NAME` for good; there are "+cli.Enumerate(names))
	}
	where := ""
	if len(files) > 0 {
		where = ": there is none in " + strings.Join(files, ", ")
	}
	const advice = "KUBECONFIG or --kubeconfig names the file that says where it is; `%s run --sandbox -f FILE` needs no cluster"
	return cli.WithHint(fmt.Errorf("no cluster is configured%s", where), fmt.Sprintf(advice, program))
}

// Explain makes an error of reading the cluster one for people: which cluster, the cause in few words, and what to do.
func (c *Connection) Explain(err error) error {
	switch unknown := (*cluster.UnknownKindError)(nil); {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &unknown):
		return cli.WithHint(fmt.Errorf("no kind %q is served by %s", unknown.Name, c.Config.Host), unknownKindHint(unknown))
	case apierrors.IsUnauthorized(err):
		const text = "the credentials%s are not accepted by %s: they have expired, or there are none"
		return cli.WithHint(fmt.Errorf(text, c.ofUser(), c.Place()),
			"log in again; `kubectl config view --minify` shows what is sent, `kubectl auth whoami` who that is")
	case apierrors.IsForbidden(err):
		return cli.WithHint(err, c.Permitted())
	}
	if cause, hint := c.unreachable(err); cause != "" {
		return cli.WithHint(fmt.Errorf("reaching %s: %s", c.Place(), cause), hint)
	}
	return err
}

// unknownKindHint offers kinds of a near name. Who gives a name that is near to none may have left out the type.
func unknownKindHint(unknown *cluster.UnknownKindError) string {
	more := "`kubectl api-resources` lists them all" + unknownGroups(unknown.Incomplete)
	nearest := cli.Suggest(unknown.Name, unknown.Known)
	if len(nearest) == 0 {
		return "an object is named by TYPE/NAME, for example deploy/web; " + more
	}
	return cli.DidYouMean(nearest, more)
}

// unknownGroups adds to a hint that the kind may be one of a group that nothing is known of.
func unknownGroups(groups []cluster.Incomplete) string {
	if len(groups) == 0 {
		return ""
	}
	var names []string
	for _, g := range groups {
		names = cli.AppendNew(names, IncompleteName(g))
	}
	return fmt.Sprintf("; the kinds of %s are not known: its server does not answer", cli.Enumerate(names))
}

// Place names the cluster: its address, and the context that it comes from.
func (c *Connection) Place() string {
	if c.Context == "" {
		return c.Config.Host
	}
	return fmt.Sprintf("%s (context %q)", c.Config.Host, c.Context)
}

func (c *Connection) ofUser() string {
	if c.User == "" {
		return ""
	}
	return fmt.Sprintf(" of user %q", c.User)
}

// unreachable says why no answer came from the cluster, and what to do about it; nothing if err is of another sort.
func (c *Connection) unreachable(err error) (cause, hint string) {
	check := fmt.Sprintf("is it running, and is this the right context? `%s run --sandbox -f FILE` needs no cluster", c.Program)
	late, name, operation := (*noAnswerError)(nil), (*net.DNSError)(nil), (*net.OpError)(nil)
	switch {
	case errors.As(err, &late):
		return late.Error(), check + "; --request-timeout waits longer"
	case isTimeout(err) && c.Config.Timeout > 0:
		return fmt.Sprintf("no answer within --request-timeout=%s", c.Config.Timeout), check
	case isTimeout(err):
		return "no answer: " + innermost(err), check
	case errors.As(err, &name):
		return fmt.Sprintf("looking up %s: %s", name.Name, name.Err), "is the name right, and does it need a VPN? " + check
	}
	if cause, hint := c.credentialPlugin(err); cause != "" {
		return cause, hint
	}
	if cause, hint := untrusted(err); cause != "" {
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

func isTimeout(err error) bool {
	timeout := net.Error(nil)
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// innermost is the text of the error that the others wrap.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// untrusted says what is wrong with the server's side of TLS; nothing if that is not it.
func untrusted(err error) (cause, hint string) {
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

// credentialPlugin says what is wrong with the program that the kubeconfig has for getting credentials; nothing if that
// is not it. client-go has no error type for it (plugin/pkg/client/auth/exec).
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
