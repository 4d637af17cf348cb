package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
)

// commandMaker makes command lines that a user can copy.
type commandMaker struct {
	// connection are the arguments by which the user has selected the cluster, each with a blank before it; empty
	// without.
	connection string
	// program is how the user calls this one.
	program string
}

// commandList gathers commands.
type commandList struct {
	maker commandMaker
	all   []v1alpha1.Command
}

// kubectl returns a command line of kubectl in a namespace, which may be empty.
func (m commandMaker) kubectl(namespace, command string) string {
	return "kubectl" + m.connection + inNamespace(namespace) + " " + command
}

// own returns a command line of this program, as kubectl does. Flags come last: kubectl takes none before the name of a
// plugin.
func (m commandMaker) own(namespace, command string) string {
	return m.program + " " + command + inNamespace(namespace) + m.connection
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + cli.ShellQuoted(namespace)
}

// look adds a command that only shows something.
func (l *commandList) look(namespace, format string, args ...any) {
	l.add(v1alpha1.Command{Command: l.maker.kubectl(namespace, fmt.Sprintf(format, quoted(args)...))})
}

// own adds a command of this program, which only shows something.
func (l *commandList) own(namespace, format string, args ...any) {
	l.add(v1alpha1.Command{Command: l.maker.own(namespace, fmt.Sprintf(format, quoted(args)...))})
}

// change adds a command that changes something in the cluster; what says in words what it does.
func (l *commandList) change(what, namespace, format string, args ...any) {
	l.add(v1alpha1.Command{
		Command: l.maker.kubectl(namespace, fmt.Sprintf(format, quoted(args)...)), Changes: true, For: what,
	})
}

// quoted returns the arguments with texts quoted for a shell: the names of objects come from the cluster.
func quoted(args []any) []any {
	out := slices.Clone(args)
	for i, a := range out {
		if s, ok := a.(string); ok {
			out[i] = cli.ShellQuoted(s)
		}
	}
	return out
}

func (l *commandList) add(c v1alpha1.Command) {
	if !slices.Contains(l.all, c) {
		l.all = append(l.all, c)
	}
}

// connectionFlags are the flags that select the cluster and the user, in the order in which they are written.
var connectionFlags = []string{
	"kubeconfig", "context", "cluster", "server", "tls-server-name", "certificate-authority",
	"insecure-skip-tls-verify", "user", "client-certificate", "client-key", "token", "as",
	"as-group", "as-uid", "as-user-extra",
}

// connectionArgs returns those of connectionFlags that were set, as they are to be given to another command. The value
// of a token is left for the user to fill in.
func connectionArgs(flags *pflag.FlagSet) string {
	var out strings.Builder
	for _, name := range connectionFlags {
		flag := flags.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case name == "token":
				out.WriteString(" --token TOKEN")
			case flag.NoOptDefVal != "":
				out.WriteString(" --" + name + "=" + cli.ShellQuoted(value))
			default:
				out.WriteString(" --" + name + " " + cli.ShellQuoted(value))
			}
		}
	}
	return out.String()
}
