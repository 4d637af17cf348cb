package why

import (
	"fmt"
	"slices"
	"strings"

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
	// recorded is true if the connection is a moment of a recording: then there are only commands of this program.
	recorded bool
	// hasKind reports whether the recording has objects of a kind, by a name of it; nil means that it has all.
	hasKind func(name string) bool
}

// commandList gathers commands, in the order in which a user should try them: those that only show something, those
// that change something, and last those that stop, delete, undo, unsuspend or untaint something.
type commandList struct {
	maker   commandMaker
	all     []v1alpha1.Command
	drastic []v1alpha1.Command
}

// ordered returns the commands.
func (l *commandList) ordered() []v1alpha1.Command { return append(l.all, l.drastic...) }

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

// look adds a command that only shows something. At a moment of a recording it is what shows the same there, if
// anything does.
func (l *commandList) look(namespace, format string, args ...any) {
	if l.maker.recorded {
		command := recordedLook(fmt.Sprintf(format, quoted(args)...))
		if command != "" && (l.maker.hasKind == nil || l.maker.hasKind(kindIn(command))) {
			l.add(v1alpha1.Command{Command: l.maker.own(namespace, command)})
		}
		return
	}
	l.add(v1alpha1.Command{Command: l.maker.kubectl(namespace, fmt.Sprintf(format, quoted(args)...))})
}

// recordedLook returns the command of this program that shows at a moment what one of kubectl would show of a cluster;
// empty if there is none.
func recordedLook(kubectl string) string {
	verb, rest, _ := strings.Cut(kubectl, " ")
	switch verb {
	case "get":
		rest, _, jsonPath := strings.Cut(rest, " -o jsonpath=")
		if jsonPath {
			rest += " -o yaml"
		}
		return "get " + rest
	case "describe":
		if strings.ContainsAny(rest, "/ ") { // one object
			rest += " -o yaml"
		}
		return "get " + rest
	}
	return ""
}

// kindIn returns the name of a kind that a command of get has.
func kindIn(command string) string {
	words := strings.FieldsFunc(command, func(r rune) bool { return r == ' ' || r == '/' || r == ',' })
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// own adds a command of this program, which only shows something.
func (l *commandList) own(namespace, format string, args ...any) {
	l.add(v1alpha1.Command{Command: l.maker.own(namespace, fmt.Sprintf(format, quoted(args)...))})
}

// change adds a command that changes something in the cluster; what says in words what it does. There is none at a
// moment of a recording.
func (l *commandList) change(what, namespace, format string, args ...any) {
	if l.maker.recorded {
		return
	}
	l.add(v1alpha1.Command{
		Command: l.maker.kubectl(namespace, fmt.Sprintf(format, quoted(args)...)), Changes: true, For: what,
	})
}

// last adds a command that changes something, to be tried when no other helps: one that stops, deletes, undoes,
// unsuspends or untaints something.
func (l *commandList) last(what, namespace, format string, args ...any) {
	if all := len(l.all); !l.maker.recorded {
		l.change(what, namespace, format, args...)
		l.drastic = append(l.drastic, l.all[all:]...)
		l.all = l.all[:all]
	}
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
