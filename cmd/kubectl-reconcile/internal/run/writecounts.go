package run

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// refusalText is such as "create pods was refused 3 times (403): exceeded quota: …".
func refusalText(w trace.WriteCount) string {
	times, why := cli.Plural(w.Writes, "time"), render.Reason(w.Message)
	switch {
	case w.NotSent:
		return fmt.Sprintf("%s %s was not sent %s: %s", w.Verb, w.Name(), times, why)
	case w.Code == 0:
		return fmt.Sprintf("%s %s got no answer %s: %s", w.Verb, w.Name(), times, why)
	}
	return fmt.Sprintf("%s %s was refused %s (%d): %s", w.Verb, w.Name(), times, w.Code, why)
}

// writeRows returns the rows of the table of what was written, or would be, with what was refused of it.
func writeRows(accepted, refused []trace.WriteCount) []render.WriteRow {
	var rows []render.WriteRow
	for _, w := range slices.SortedFunc(slices.Values(append(slices.Clone(accepted), onlyRefused(accepted, refused)...)), trace.CompareWriteCounts) {
		times := 0
		for _, r := range refused {
			if w.SameWrites(r) {
				times += r.Writes
			}
		}
		rows = append(rows, render.WriteRow{
			Verb: w.Verb, Resource: w.Name(), Objects: w.Objects, Writes: w.Writes, Refused: times,
		})
	}
	return rows
}

// onlyRefused returns a count without writes for each verb and resource of which nothing was accepted.
func onlyRefused(accepted, refused []trace.WriteCount) []trace.WriteCount {
	var out []trace.WriteCount
	for _, r := range refused {
		if !slices.ContainsFunc(append(slices.Clone(accepted), out...), r.SameWrites) {
			out = append(out, trace.WriteCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource})
		}
	}
	return out
}

// unverifiedWrites is the error of a dry run that did not find out what would be written; nil if it did, and outside of dry runs.
func (o *Options) unverifiedWrites(unverified []trace.FailingKey) error {
	if len(unverified) == 0 || !o.dry() {
		return nil
	}
	r := unverified[0].Unverified
	write := trace.WriteCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}
	err := fmt.Errorf("what would be written is not known: the writes of %s could not be tried: %s %s: %s",
		cli.Plural(len(unverified), "key"), write.Verb, write.Name(), render.Reason(r.Message))
	lacksPermission := func(k trace.FailingKey) bool { return k.Unverified.Code == http.StatusForbidden }
	if o.cluster.options.DryRun == guardClient || !slices.ContainsFunc(unverified, lacksPermission) {
		return err
	}
	return cli.WithHint(err, "--dry-run=client sends no write, and needs no permission to")
}
