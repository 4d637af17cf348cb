package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// pendingKey is a key that would have come back by itself.
type pendingKey struct {
	Controller string         `json:"controller"`
	Key        string         `json:"key"`
	In         trace.Duration `json:"in"`
	Retry      int            `json:"retry,omitempty"`
}

// collect reads the final state of the session's objects into the result. It is read even after an interrupt.
func (o *Options) collect(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied, made []schema.GroupVersionResource, r *result) error {
	ctx, cancel := outliving(ctx)
	defer cancel()
	now := o.Clock.Now()
	for _, d := range session.Pending() {
		r.pending = append(r.pending, pendingKey{d.Controller, d.Key, trace.Duration(d.Due.Sub(now)), d.Retry})
	}
	if len(applied) == 0 {
		return nil
	}
	var errs [2]error
	r.objects, errs[0] = session.Statuses(ctx, applied)
	r.made, errs[1] = session.Others(ctx, made, applied)
	r.judgeAgain()
	if ctx.Err() != nil && errors.Join(errs[:]...) != nil {
		return errors.New("the final state is not complete: there was no time to read it all")
	}
	return errors.Join(errs[:]...)
}

// summaryLine is the last line of a run's NDJSON.
type summaryLine struct {
	APIVersion  string                    `json:"apiVersion"`
	Kind        string                    `json:"kind"`
	Outcome     string                    `json:"outcome"`
	Elapsed     trace.Duration            `json:"elapsed"`
	Controllers []trace.ControllerSummary `json:"controllers"`
	// WouldWrite is what a dry run came to, Wrote what a run on a cluster wrote.
	WouldWrite []trace.WriteCount `json:"wouldWrite,omitempty"`
	Wrote      []trace.WriteCount `json:"wrote,omitempty"`
	// Refused is what either tried in vain, by verb, resource and code.
	Refused []trace.WriteCount `json:"refused,omitempty"`
	// Unknown counts the keys of a dry run of whose writes nobody has said what would become of them.
	Unknown int                `json:"unknown,omitempty"`
	Failing []trace.FailingKey `json:"failing,omitempty"`
	Objects []objectLine       `json:"objects,omitempty"`
	Pending []pendingKey       `json:"pending,omitempty"`
}

// objectLine is an object's final state.
type objectLine struct {
	trace.Object
	Applied bool   `json:"applied,omitempty"`
	Status  string `json:"status"`
	Ready   string `json:"ready,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

func (r *result) line(dry bool) summaryLine {
	line := summaryLine{
		APIVersion: cli.APIVersion, Kind: "TraceSummary", Outcome: r.outcome, Elapsed: trace.Duration(r.elapsed),
		Controllers: r.controllers, Refused: r.refused, Unknown: len(r.unknown), Failing: r.failing, Pending: r.pending,
	}
	if dry {
		line.WouldWrite = r.written
	} else {
		line.Wrote = r.written
	}
	for i, group := range [][]runlocal.ObjectStatus{r.objects, r.made} {
		for _, s := range group {
			line.Objects = append(line.Objects, objectLine{
				Object: trace.Object{
					Group: s.Resource.Group, Version: s.Resource.Version, Resource: s.Resource.Resource, Kind: s.Kind.Kind,
					Namespace: s.Namespace, Name: s.Name,
				},
				Applied: i == 0, Status: s.Status.Status, Ready: s.Status.Ready, Reason: s.Status.Reason, Message: s.Status.Message,
			})
		}
	}
	return line
}

// finish writes the last of the trace, and the summary.
func (out *outputs) finish(ctx context.Context, o *Options, r result) error {
	if err := out.flush(ctx); err != nil {
		return err
	}
	written := make(chan error, 1) // buffered: a write that hangs ends with the process
	go func() { written <- o.writeSummary(out, r) }()
	ctx, cancel := outliving(ctx)
	defer cancel()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return errors.New("writing the summary: nobody reads it")
	}
}

func (o *Options) writeSummary(out *outputs, r result) error {
	r.written, r.refused = out.written.Counts()
	if !o.json {
		return o.printSummary(out, r)
	}
	enc := json.NewEncoder(out.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.line(o.dry())); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

func (o *Options) printSummary(out *outputs, r result) error {
	if r.unused {
		return nil
	}
	fmt.Fprintln(out.out)
	if out.blocks != nil {
		if text := notShown(out.blocks.NotShown()); text != "" {
			out.say("%s", text)
			fmt.Fprintln(out.out)
		}
	}
	out.say("%s", r.headline(o.Until.String())+r.reached())
	shown := slices.DeleteFunc(slices.Clone(r.controllers), func(c trace.ControllerSummary) bool {
		return o.Detail < render.Verbose && slices.Contains(simulated, c.Controller)
	})
	err := render.ControllerTable(out.out, shown, render.ControllerTableOptions{
		ListingOptions: o.listing(out.out), Dry: o.dry(), Failing: r.fails,
	})
	if err != nil {
		return err
	}
	if err := o.printWrites(out, r); err != nil {
		return err
	}
	if err := render.ObjectTable(out.out, objectRows(r), o.listing(out.out)); err != nil {
		return err
	}
	o.printPending(out, r.pending)
	o.printFailing(out, r.failing)
	return nil
}

// listing are the options of a table that is written there.
func (o *Options) listing(w io.Writer) render.ListingOptions {
	return render.ListingOptions{Palette: o.Palette, Width: render.TerminalWidth(w)}
}

// fails reports whether a key of the controller fails at the end.
func (r *result) fails(controller string) bool {
	return slices.ContainsFunc(r.failing, func(k trace.FailingKey) bool { return k.Controller == controller })
}

// few are the first of a list in the summary, unless all are asked for, and how many more there are.
func few[T any](o *Options, all []T, most int) (first []T, more int) {
	if o.Detail >= render.Verbose || len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}

// mostPending bounds the keys that are listed as still to come, unless all are asked for.
const mostPending = 5

func (o *Options) printPending(out *outputs, pending []pendingKey) {
	pending, more := few(o, pending, mostPending)
	for _, p := range pending {
		why := "timer"
		if p.Retry > 0 {
			why = fmt.Sprintf("retry %d", p.Retry)
		}
		out.say("still to come: %s %s in %s (%s)", p.Controller, p.Key, render.Round(p.In), why)
	}
	if more > 0 {
		out.say("still to come: %d more", more)
	}
}

func (r *result) headline(goal string) string {
	after := fmt.Sprintf("after %.2fs", r.elapsed.Seconds())
	switch r.outcome {
	case string(untilElapsed):
		return "ended " + after
	case string(UntilInterrupted):
		if goal == string(UntilInterrupted) {
			return "ended " + after
		}
	case timedOut:
		return "not " + goal + " " + after
	case stuck:
		if i := slices.IndexFunc(r.objects, hasFailed); i >= 0 && r.onlyFailed() {
			return failedText(r.objects[i]) + " " + after
		}
		return "not ready, gave up " + after + r.dueNext()
	case lapsed:
		return "not ready any more " + after
	}
	return r.outcome + " " + after
}

// mostReached bounds the objects that the headline names.
const mostReached = 3

// reached names the objects that are ready, if they are few, or those that are not where that was not waited for.
func (r *result) reached() string {
	if r.outcome == string(untilSettled) {
		return r.notWell()
	}
	if r.outcome != string(untilReady) {
		return ""
	}
	var objects, others []string
	for _, s := range r.objects {
		if s.Status.Unreported() {
			others = append(others, s.String())
		} else {
			objects = append(objects, strings.TrimSpace(s.String()+" "+s.Status.Ready))
		}
	}
	if len(objects) > mostReached {
		objects = nil
	}
	if len(others) > mostReached {
		others = []string{cli.Plural(len(others), "object")}
	}
	if len(others) > 0 {
		objects = append(objects, fmt.Sprintf("not waited for %s, whose controller does not run here", cli.Enumerate(others)))
	}
	if objects == nil {
		return ""
	}
	return ": " + strings.Join(objects, ", ")
}

// objectRows are the rows of the table of objects: each applied one, and what the controllers made of it, folded.
func objectRows(r result) []render.ObjectRow {
	var rows []render.ObjectRow
	for _, s := range r.objects {
		rows = append(rows, render.ObjectRow{Name: s.String(), Namespace: s.Namespace, Status: s.Status})
	}
	for _, s := range r.made {
		name := strings.ToLower(schema.GroupKind{Group: s.Kind.Group, Kind: s.Kind.Kind}.String())
		rows = append(rows, render.ObjectRow{Fold: name, Name: s.String(), Namespace: s.Namespace, Status: s.Status})
	}
	return rows
}
