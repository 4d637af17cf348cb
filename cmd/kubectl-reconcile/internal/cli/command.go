package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// sectionAnnotation is the annotation of a flag that has the title of its section.
const sectionAnnotation = "section"

// SetSection puts flags into a section of their own wherever the flags of a command are described.
func SetSection(flags *pflag.FlagSet, title string) {
	flags.VisitAll(func(f *pflag.Flag) {
		// The only error is that there is no such flag.
		_ = flags.SetAnnotation(f.Name, sectionAnnotation, []string{title})
	})
}

// Section returns the title of the section that a flag is in; empty if it is in none.
func Section(f *pflag.Flag) string {
	if titles := f.Annotations[sectionAnnotation]; len(titles) > 0 {
		return titles[0]
	}
	return ""
}

// RefuseEmpty makes empty values of flags errors. A script whose variable is not set gives them, and would else go on
// without what the flag is for.
func RefuseEmpty(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flag := flags.Lookup(name)
		list, _ := flag.Value.(pflag.SliceValue)
		flag.Value = &notEmpty{flag.Value, list}
	}
}

// notEmpty is a value, which may be a list, that cannot be empty.
type notEmpty struct {
	pflag.Value
	pflag.SliceValue // nil if the value is no list
}

// Set implements pflag.Value.
func (v *notEmpty) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty; is a variable not set?")
	}
	return v.Value.Set(text)
}

// Runner is the options of a command, complete and valid.
type Runner interface{ Run(context.Context) error }

// RunE returns a cobra.Command.RunE that turns arguments into options with toOptions, and runs them. Options that are
// an io.Closer are closed at the end.
func RunE[O Runner](
	streams genericiooptions.IOStreams, toOptions func(genericiooptions.IOStreams, []string) (O, error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := toOptions(streams, args)
		if err != nil {
			return err
		}
		err = o.Run(cmd.Context())
		if closer, ok := any(o).(io.Closer); ok {
			if closed := closer.Close(); closed != nil {
				err = errors.Join(err, closed)
			}
		}
		return err
	}
}

// NoArguments is a cobra.PositionalArgs of commands that take flags only.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return WithHint(UnknownError("argument", args[0]), "`"+cmd.CommandPath()+" --help` shows how it is used")
	}
	return nil
}
