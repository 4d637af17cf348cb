package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/root"
)

// freeText are flags whose value only the user knows.
var freeText = strings.Fields(`
as as-group as-uid as-user-extra proxy-url request-timeout server tls-server-name token cache-dir
selector field-selector sort-by field-manager redact ignore shard max-size rotate serve listen`)

// TestFlagsAreCompleted: each flag with a value is completed, unless it is a number, a time or a text of the user's.
func TestFlagsAreCompleted(t *testing.T) {
	used := map[string]bool{}
	eachCommand(newTestRoot(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, isWord := cmd.GetFlagCompletionFunc(f.Name)
			isFile := f.Annotations[cobra.BashCompFilenameExt] != nil || f.Annotations[cobra.BashCompSubdirsInDir] != nil
			isNumber := slices.Contains([]string{"duration", "int", "float32", "float64", "count"}, f.Value.Type())
			isFree := slices.Contains(freeText, f.Name)
			used[f.Name] = used[f.Name] || isFree
			if given := f.NoOptDefVal != ""; !given && !isWord && !isFile && !isNumber && !isFree {
				t.Errorf("%s --%s (%s) is not completed", cmd.CommandPath(), f.Name, f.Value.Type())
			} else if isWord && isFree {
				t.Errorf("%s --%s is completed, and in the list of those that are not", cmd.CommandPath(), f.Name)
			}
		})
	})
	for _, name := range freeText {
		if !used[name] {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

// TestArgumentsAreCompleted: no command leaves its arguments to the default, which is to offer nothing.
func TestArgumentsAreCompleted(t *testing.T) {
	eachCommand(newTestRoot(), func(cmd *cobra.Command) {
		takesNone := cmd.Args != nil && cmd.Args(cmd, []string{"x"}) != nil
		if !cmd.HasSubCommands() && !takesNone && cmd.ValidArgsFunction == nil {
			t.Errorf("the arguments of %s are not completed", cmd.CommandPath())
		}
	})
}

func newTestRoot() *cobra.Command {
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}
	return root.New("kubectl-reconcile", streams)
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, do)
	}
}

// offersWithin is how long a machine that runs many tests at once may take for a completion. Each attempt ends within a
// second, with nothing.
const offersWithin = time.Minute

// offers is `offers REGEXP WORD…`: it completes the words until what is offered matches.
func offers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: offers REGEXP WORD…")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(offersWithin); ; {
		ts.Check(ts.Exec("kubectl-reconcile", append([]string{cobra.ShellCompRequestCmd}, args[1:]...)...))
		if offered := ts.ReadFile("stdout"); wanted.MatchString(offered) {
			return
		} else if time.Now().After(deadline) {
			ts.Fatalf("offered is\n%s", offered)
		}
	}
}
