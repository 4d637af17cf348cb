package diff

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
)

// comparison compares two moments of a recording. No controllers run for it.
type comparison struct {
	options  *Options
	files    []string
	from, to string // of --at and --to
	selector labels.Selector
}

// compared is what a comparison found.
type compared struct {
	name      string // of the recording
	from, to  comparedMoment
	objects   []plan.Object
	recreated map[plan.ObjectID]bool
	leftOut   []string
}

// comparedMoment is one of the two moments.
type comparedMoment struct {
	text   string
	moment replay.Moment
	state  *replay.State
	time   time.Time // zero without times
}

// run compares the moments and prints what differs. The error is cli.ErrSilentExit if anything does.
func (c *comparison) run(ctx context.Context) error {
	found, err := c.compare(ctx)
	if err != nil {
		return err
	}
	if err := c.print(ctx, found); err != nil {
		return err
	}
	if len(found.objects) > 0 {
		return cli.ErrSilentExit
	}
	return nil
}

// compare reads the recording at both moments.
func (c *comparison) compare(ctx context.Context) (found *compared, err error) {
	opened, err := moment.OpenFiles(ctx, c.options.streams, c.files)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := opened.Close(); closed != nil {
			err = errors.Join(err, closed)
		}
	}()
	info, err := opened.Info()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", opened.Name, err)
	}
	found = &compared{name: opened.Name, recreated: map[plan.ObjectID]bool{}}
	for _, one := range []struct {
		at   string
		into *comparedMoment
	}{{c.from, &found.from}, {c.to, &found.to}} {
		m, state, err := opened.At(one.at)
		if err != nil {
			return nil, err
		}
		*one.into = comparedMoment{text: moment.Text(opened.Name, &info, m, state), moment: m, state: state}
		if t, recorded := moment.TimeOf(state, m); recorded {
			one.into.time = t
		}
	}
	asked, err := c.asked(found)
	if err != nil {
		return nil, err
	}
	for _, one := range []*comparedMoment{&found.from, &found.to} {
		for _, note := range moment.Notes(&info, one.moment, one.state) {
			found.leftOut = cli.AppendUnique(found.leftOut, note)
		}
	}
	return found, c.find(found, asked)
}

// asked resolves the arguments by the kinds that were recorded; none stand for all objects.
func (c *comparison) asked(found *compared) ([]connect.Target, error) {
	from, to := found.from.state, found.to.state
	targets, err := c.options.named.Resolve(moment.Kinds(from, to), c.options.plan.Namespace)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil, cli.WithHint(fmt.Errorf("no kind %q is known in %s", unknown.Name, found.name),
			cli.Suggestion(unknown.Name, unknown.Known, ""))
	}
	for _, t := range targets {
		if !moment.Recorded(t.Kind, from, to) {
			err = errors.Join(err, fmt.Errorf("%s were not recorded", t.Kind.GroupResource()))
		}
	}
	return targets, err
}

// uninteresting are the kinds that change all the time: they are compared only if they are named.
func uninteresting(kind cluster.Kind) bool {
	return kind.Resource == "events" || kind.Kind == "Lease" && kind.Group == "coordination.k8s.io"
}

// selects reports whether an object is compared.
func (c *comparison) selects(one *moment.Object, targets []connect.Target) bool {
	if given := c.options.plan.Namespace; given != "" && one.Record.Namespace != given {
		return false
	}
	return len(targets) == 0 || slices.ContainsFunc(targets, func(t connect.Target) bool {
		return t.Kind.GroupResource() == one.Kind.GroupResource() && (t.Name == "" || t.Name == one.Record.Name)
	})
}

// find compares the objects.
func (c *comparison) find(found *compared, targets []connect.Target) error {
	before, after := moment.Objects(found.from.state), moment.Objects(found.to.state)
	existed := map[moment.Key]bool{}
	at := map[moment.Key]*moment.Object{}
	for i := range after {
		at[after[i].Key()] = &after[i]
	}
	hidden := map[string]int{}
	add := func(was, is *moment.Object) error {
		one := was
		if one == nil {
			one = is
		}
		if !c.selects(one, targets) || was != nil && is != nil && bytes.Equal(was.Record.Object, is.Record.Object) {
			return nil
		}
		if len(targets) == 0 && uninteresting(one.Kind) {
			hidden[one.Kind.GroupResource().String()]++
			return nil
		}
		return c.add(found, was, is)
	}
	for i := range before {
		key := before[i].Key()
		existed[key] = true
		if err := add(&before[i], at[key]); err != nil {
			return err
		}
	}
	for i := range after {
		if !existed[after[i].Key()] {
			if err := add(nil, &after[i]); err != nil {
				return err
			}
		}
	}
	sort.SliceStable(found.objects, func(i, j int) bool {
		a, b := found.objects[i].ObjectID, found.objects[j].ObjectID
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource.Group, b.Resource.Group),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
	})
	for _, name := range []string{"events", "events.events.k8s.io", "leases.coordination.k8s.io"} {
		if n := hidden[name]; n > 0 {
			found.leftOut = append(found.leftOut, fmt.Sprintf("not shown: %s (%d %s); name them to see them",
				name, n, cli.PluralOf(n, "differs", "differ")))
		}
	}
	return nil
}

// add adds an object that may differ; was or is is nil if it was not there.
func (c *comparison) add(found *compared, was, is *moment.Object) error {
	obj := plan.Object{}
	var uids []string
	for _, one := range []struct {
		object *moment.Object
		into   **unstructured.Unstructured
	}{{was, &obj.Before}, {is, &obj.After}} {
		if one.object == nil {
			continue
		}
		decoded, err := one.object.Decode()
		if err != nil {
			return err
		}
		decoded.SetResourceVersion("")
		*one.into = decoded
		uids = append(uids, string(decoded.GetUID()))
		obj.ObjectID = plan.ObjectID{
			Resource: one.object.Kind.GVR(), Kind: one.object.Kind.Kind,
			Namespace: one.object.Record.Namespace, Name: one.object.Record.Name,
		}
	}
	if !c.matches(obj.Before) && !c.matches(obj.After) {
		return nil
	}
	plan.HideSecrets(obj.Before, obj.After)
	if obj.Verb() == plan.Update {
		before, err := c.options.text(obj.Before)
		if err != nil {
			return err
		}
		after, err := c.options.text(obj.After)
		if err != nil || before == after {
			return err
		}
	}
	found.recreated[obj.ObjectID] = len(uids) == 2 && uids[0] != uids[1]
	found.objects = append(found.objects, obj)
	return nil
}

// matches reports whether an object, which may be nil, has the labels of -l.
func (c *comparison) matches(obj *unstructured.Unstructured) bool {
	return obj != nil && c.selector.Matches(labels.Set(obj.GetLabels()))
}

// print prints what differs as it was asked for.
func (c *comparison) print(ctx context.Context, found *compared) error {
	o := c.options
	if o.summary || o.output == "name" {
		for _, line := range found.leftOut {
			fmt.Fprintln(o.streams.ErrOut, cli.OneLine(line))
		}
	}
	switch {
	case o.output == "name":
		return cli.WriteNames(o.streams.Out, found.objects, kubectlName)
	case o.output != "":
		return cli.WriteDocument(o.streams.Out, o.output, c.document(found))
	case o.summary:
		_, err := fmt.Fprintln(o.streams.Out, comparisonSummary(found))
		return err
	}
	var head strings.Builder
	fmt.Fprintln(&head, cli.Wrap(o.streams.Out, render.Escape("from "+found.from.text)))
	fmt.Fprintln(&head, cli.Wrap(o.streams.Out, render.Escape("to   "+found.to.text)))
	if _, err := o.streams.Out.Write([]byte(head.String())); err != nil {
		return err
	}
	if err := c.printTable(found); err != nil {
		return err
	}
	for _, line := range found.leftOut {
		if _, err := fmt.Fprintln(o.streams.Out, cli.Wrap(o.streams.Out, render.Escape(line))); err != nil {
			return err
		}
	}
	diffs, err := o.diffs(found.objects)
	if err == nil {
		err = o.printDiffs(ctx, o.streams.Out, diffs)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.streams.Out, comparisonSummary(found))
	return err
}

// printTable prints a row for each object.
func (c *comparison) printTable(found *compared) error {
	if len(found.objects) == 0 {
		return nil
	}
	o := c.options
	namespaces := map[string]bool{}
	for i := range found.objects {
		namespaces[found.objects[i].Namespace] = true
	}
	delete(namespaces, "")
	table := render.NewTable([]render.Column{
		{Title: "OBJECT", Truncatable: true}, {Title: "CHANGES", Truncatable: true},
	}, render.TableOptions{Palette: o.palette, Width: o.width, ASCII: o.ascii})
	var rows [][]render.Cell
	for i := range found.objects {
		obj := &found.objects[i]
		name := obj.Name
		if len(namespaces) > 1 && obj.Namespace != "" {
			name = obj.Namespace + "/" + name
		}
		rows = append(rows, []render.Cell{
			{Text: signs[obj.Verb()] + " " + obj.Kind + " " + name},
			{Text: c.changesText(found, obj), Tone: render.ToneChange},
		})
	}
	return table.Write(o.streams.Out, rows)
}

// changesText spells what has changed in an object.
func (c *comparison) changesText(found *compared, obj *plan.Object) string {
	if obj.Verb() == plan.Delete {
		return ""
	}
	changes, err := fields.Changes(obj.Before, obj.After, fields.Mask{})
	switch {
	case err != nil:
		return ""
	case obj.Verb() == plan.Create:
		return render.CreatedReplicas(changes)
	}
	text := render.Changes(changes, render.ChangesOptions{Limit: 4, All: c.options.verbose})
	if c.options.verbose {
		text = render.Changes(changes, render.ChangesOptions{All: true})
	}
	if found.recreated[obj.ObjectID] {
		return strings.TrimSuffix("deleted and created again: "+text, ": ")
	}
	return text
}

// comparisonSummary says in one line what differs.
func comparisonSummary(found *compared) string {
	counts := map[plan.Verb]int{}
	for i := range found.objects {
		counts[found.objects[i].Verb()]++
	}
	var parts []string
	for _, c := range []struct {
		verb plan.Verb
		text string
	}{{plan.Create, "created"}, {plan.Update, "changed"}, {plan.Delete, "deleted"}} {
		if n := counts[c.verb]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	if len(parts) == 0 {
		return "nothing has changed"
	}
	return strings.Join(parts, ", ")
}

// document returns what differs as it is printed with -o json and yaml.
func (c *comparison) document(found *compared) v1alpha1.Comparison {
	out := v1alpha1.Comparison{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.ComparisonKind,
		From: momentDocument(&found.from), To: momentDocument(&found.to),
		Objects: []v1alpha1.PlanObject{}, LeftOut: found.leftOut,
	}
	for i := range found.objects {
		one := c.options.objectDocument(&found.objects[i])
		one.Undecided = nil // that is about plans
		out.Objects = append(out.Objects, one)
	}
	return out
}

func momentDocument(m *comparedMoment) v1alpha1.RecordedMoment {
	out := v1alpha1.RecordedMoment{Record: m.state.Number}
	if !m.time.IsZero() {
		out.Time = m.time.UTC().Format(time.RFC3339Nano)
	}
	return out
}
