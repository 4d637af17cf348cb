package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// FindingFlags say what counts as a finding, and which findings fail a command.
type FindingFlags struct {
	failOn string
	limits string
}

// AddTo adds the flags to a command.
func (f *FindingFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.failOn, "fail-on", "",
		"end with exit code 1 if there are findings of these `types`: "+findingTypes(", ")+", or any")
	flags.StringVar(&f.limits, "finding-limits", "",
		"how often something must happen to be a finding, such as loop=20,fight=5; of put-off and starving, "+
			"how many seconds a key must wait")
	words := []string{"any"}
	for _, t := range findings.Types() {
		words = append(words, string(t))
	}
	cli.CompleteWords(cmd, "fail-on", words...)
}

func findingTypes(between string) string {
	var names []string
	for _, t := range findings.Types() {
		names = append(names, string(t))
	}
	return strings.Join(names, between)
}

// ToFindings returns what the flags say.
func (f *FindingFlags) ToFindings() (Findings, error) {
	var out Findings
	var err error
	if f.failOn != "" {
		if out.failOn, err = findings.ParseTypes(f.failOn); err != nil {
			return out, fmt.Errorf("--fail-on: %w", err)
		}
	}
	if f.limits != "" {
		if out.Limits, err = findings.ParseLimits(f.limits); err != nil {
			return out, fmt.Errorf("--finding-limits: %w", err)
		}
	}
	return out, nil
}

// Given reports whether a finding fails the command.
func (f Findings) Given() bool { return len(f.failOn) > 0 }

// Findings are what counts as a finding, and which ones are an error. The zero value has the defaults, and no error.
type Findings struct {
	Limits findings.Limits
	failOn []findings.Type
}

// Err returns the error of a command with these findings, which ends it with exit code 1; nil if they are none.
func (f Findings) Err(found []findings.Finding) error {
	var parts []string
	for _, t := range findings.Types() {
		n := 0
		for i := range found {
			if found[i].Type == t && slices.Contains(f.failOn, t) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d of the type %s", n, t))
		}
	}
	if parts == nil {
		return nil
	}
	return cli.WithExitCode(fmt.Errorf("there are findings: %s", strings.Join(parts, ", ")), 1)
}
