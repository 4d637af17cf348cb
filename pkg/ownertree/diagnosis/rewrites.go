package diagnosis

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

const (
	// justWritten is how short a time ago an object must have been written to be read again. Clocks may differ by as
	// much.
	justWritten = 10 * time.Second
	// readsApart is the time between two reads of it.
	readsApart = time.Second
)

// ReadRewrites finds out whether the object asked for is written all the time, if nothing else was found that explains
// its state: one that was written a moment ago is read again a second later, and once more if it has changed. It must
// not be called for a recording, in which nothing changes, nor while another method is called. The error is not nil
// only if ctx has ended.
func (s *Situation) ReadRewrites(ctx context.Context, reader *cluster.Reader, clock clock.Clock) error {
	obj := s.objects[s.Asked.UID]
	if obj == nil || s.Asked.Kind.GroupKind().String() == "Lease.coordination.k8s.io" { // it is renewed
		return nil
	}
	last, ok := fields.LastWriter(obj)
	explains := func(c *Cause) bool { return c.Weight == inspect.Specific }
	if !ok || last.Time == nil || clock.Since(last.Time.Time).Abs() > justWritten ||
		slices.ContainsFunc(s.Diagnose(clock.Now()).Causes, explains) {
		return nil
	}
	versions := []*unstructured.Unstructured{obj}
	for range 2 {
		select {
		case <-clock.After(readsApart):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		next, err := reader.Object(ctx, *s.Asked.Kind, s.Asked.Namespace, s.Asked.Name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil, next.GetUID() != obj.GetUID(),
			next.GetResourceVersion() == versions[len(versions)-1].GetResourceVersion():
			return nil //nolint:nilerr // it was read before, and that it has gone since explains nothing
		}
		versions = append(versions, next)
	}
	s.versions = versions
	return nil
}

// rewritten returns the cause that the object asked for is written all the time. While it is being worked on that is as
// it should be, unless a field has again the value that it had before.
func (d *diagnoser) rewritten() (inspect.Cause, bool) {
	if len(d.versions) == 0 {
		return inspect.Cause{}, false
	}
	first, second, third := d.versions[0], d.versions[1], d.versions[2]
	between, now := changedFields(first, second), changedFields(second, third)
	apart := changedFields(first, third)
	isBack := func(c fields.Change) bool {
		return !slices.ContainsFunc(apart, func(o fields.Change) bool { return o.Path == c.Path })
	}
	facts := d.facts.Of(d.Asked)
	if !facts.Current() && facts.Status.Status != inspect.Degraded && !slices.ContainsFunc(between, isBack) {
		return inspect.Cause{}, false
	}
	c := inspect.Cause{Type: Rewritten, Certainty: inspect.Certain, Weight: inspect.Specific}
	var paths, names []string
	all := append(now, between...)
	slices.SortStableFunc(all, func(a, b fields.Change) int { return isTime(a) - isTime(b) })
	for _, change := range all {
		if slices.Contains(paths, change.Path) {
			continue
		}
		paths = append(paths, change.Path)
		_, values, _ := strings.Cut(change.String(), ": ")
		c.Evidence = append(c.Evidence, inspect.Evidence{Source: inspect.FromField, Name: change.Path, Text: values})
	}
	for _, w := range writersSince(first, third) {
		what := "has written it since"
		if w.Subresource != "" {
			what = "has written its " + w.Subresource + " since"
		}
		c.Evidence = append(c.Evidence, inspect.Evidence{
			Source: inspect.FromWriter, Name: w.Manager, Text: what, Time: w.Time,
		})
		if !slices.Contains(names, w.Manager) {
			names = append(names, w.Manager)
		}
	}
	c.Detail = strings.Join(paths[:min(len(paths), mostPaths)], ", ")
	if len(paths) > mostPaths {
		c.Detail += ", …"
	}
	if len(names) > 0 {
		c.Detail = strings.TrimSpace(c.Detail + " by " + strings.Join(names, " and "))
	}
	return c, true
}

// writersSince returns who has written an object between two versions of it, by the times of managedFields.
func writersSince(first, last *unstructured.Unstructured) []fields.Writer {
	before := fields.Writers(first)
	return slices.DeleteFunc(fields.Writers(last), func(w fields.Writer) bool {
		return w.Time == nil || slices.ContainsFunc(before, func(b fields.Writer) bool {
			return b.Manager == w.Manager && b.Subresource == w.Subresource && w.Time.Equal(b.Time)
		})
	})
}

// isTime is 1 if a change is one of a time, which is written because something else is, and 0 for others.
func isTime(c fields.Change) int {
	text, _ := c.New.(string)
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return 1
	}
	return 0
}

// mostPaths bounds the fields that a sentence names.
const mostPaths = 3

// changedFields lists what differs between two versions of an object; nothing if they cannot be compared.
func changedFields(old, updated *unstructured.Unstructured) []fields.Change {
	out, err := fields.ChangesWithOrder(old, updated, fields.Mask{})
	if err != nil {
		return nil
	}
	return out
}
