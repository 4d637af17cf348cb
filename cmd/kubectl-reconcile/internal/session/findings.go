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
	failOn []string
	limits string
}

// AddTo adds the flags to a command.
func (f *FindingFlags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.failOn, "fail-on", nil,
		"end with exit code 1 if there are findings of these `types`: "+strings.Join(findings.Names(), ", ")+", or any")
	flags.StringVar(&f.limits, "finding-limits", "",
		"how often something must happen to be a finding, as `TYPE=N`, such as loop=20,fight=5; "+
			"of put-off and starving, how many seconds a key must wait")
	var limits []string
	for _, name := range findings.Names() {
		limits = append(limits, name+"=")
	}
	cli.CompleteWords(cmd, "finding-limits", limits...)
	cli.CompleteWords(cmd, "fail-on", append([]string{"any"}, findings.Names()...)...)
}

// ToFindings returns what the flags say.
func (f *FindingFlags) ToFindings() (Findings, error) {
	var out Findings
	var err error
	if f.failOn != nil { // an empty list is none by mistake
		if out.failOn, err = findings.ParseTypes(strings.Join(f.failOn, ",")); err != nil {
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

// Given reports whether findings are asked for.
func (f Findings) Given() bool { return len(f.failOn) > 0 || f.Limits != nil }

// Findings are what counts as a finding, and which ones are an error. The zero value has the defaults, and no error.
type Findings struct {
	Limits findings.Limits
	failOn []findings.Type
}

// Err returns the error of a command with these findings, for which the exit code is 1; nil if it is none.
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
	return fmt.Errorf("there are findings: %s", strings.Join(parts, ", "))
}
