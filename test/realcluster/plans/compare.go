package plans

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// Difference is something in which a plan and what a control plane did differ.
type Difference struct {
	// At says what it is: see the package documentation.
	At string
	// Planned and Real are the values, a line each.
	Planned, Real []string
}

// String is the difference on several lines.
func (d Difference) String() string {
	indented := func(lines []string) string {
		if len(lines) == 0 {
			return " (none)"
		}
		return "\n        " + strings.Join(lines, "\n        ")
	}
	return fmt.Sprintf("%s\n    planned:%s\n    real:%s", d.At, indented(d.Planned), indented(d.Real))
}

// sizesOf begins the name of the numbers of replicas of an object.
const sizesOf = "sizes "

// account is what is compared of all writes, in lines by what they are about.
type account map[string][]string

func (a account) add(at, line string) { a[at] = append(a[at], line) }

// simulated are what takes the place of a kubelet, a scheduler and a provisioner: each handles several objects at a
// time, as the garbage collector does, so that there is no order among those.
var simulated = []string{"kubelet", "scheduler", "provisioner", "garbagecollector"}

// accountOf puts writes in words.
func accountOf(writes []write) account {
	out := account{}
	histories := map[string][]string{}
	names := map[string]string{}
	orders := map[string][]write{}
	for _, w := range writes {
		by := w.controller
		if by == "" {
			by = "kubectl"
		}
		switch {
		case w.code > 0:
			out.add("refused", fmt.Sprintf("%s %s %d", by, w.verb, w.code))
			continue
		case w.onlyStatus():
			out.add("status", by+" "+w.at)
			continue
		}
		histories[w.object] = append(histories[w.object], by+" "+w.String())
		names[w.object] = w.at
		if w.replicas != nil {
			if len(out[sizesOf+w.at]) == 0 {
				out.add(sizesOf+w.at, fmt.Sprint(*w.from))
			}
			out.add(sizesOf+w.at, fmt.Sprint(*w.replicas))
		}
		if !slices.Contains(simulated, by) {
			order := "order " + by + " " + w.owner
			orders[order] = append(orders[order], w)
		}
	}
	for object, lines := range histories {
		out.add("history "+names[object], strings.Join(lines, "; "))
	}
	for order, writes := range orders {
		out[order] = sequence(writes)
	}
	for at := range out {
		if strings.HasPrefix(at, "history ") || at == "status" || at == "refused" {
			slices.Sort(out[at]) // of objects that are alike, and what is a set
		}
	}
	for _, at := range []string{"status", "refused"} {
		out[at] = slices.Compact(out[at])
	}
	return out
}

// sequence is what a controller did for one object, a line a write. Controllers create and delete several objects at
// once, so those of one kind that follow each other are sorted.
func sequence(writes []write) []string {
	var out []string
	begin := 0
	for i, w := range writes {
		if i > 0 && (w.verb == updates || w.verb != writes[i-1].verb || kindOf(w) != kindOf(writes[i-1])) {
			slices.Sort(out[begin:])
			begin = i
		}
		verb, fields, _ := strings.Cut(w.String(), " ")
		out = append(out, strings.TrimSpace(verb+" "+w.at+" "+fields))
	}
	slices.Sort(out[begin:])
	return out
}

func kindOf(w write) string {
	kind, _, _ := strings.Cut(w.at, "/")
	return kind
}

// compareAccounts lists what differs in two accounts, as the rules have it compared.
func compareAccounts(planned, done account, rules []scenarios.Rule) []Difference {
	var out []Difference
	all := slices.AppendSeq(slices.Collect(maps.Keys(planned)), maps.Keys(done))
	slices.Sort(all)
	for _, at := range slices.Compact(all) {
		p, r := planned[at], done[at]
		if at == "status" || at == "refused" {
			p, r = without(p, r), without(r, p)
			for _, line := range p {
				out = appendDifference(out, rules, Difference{At: at + " " + line, Planned: []string{"written"}})
			}
			for _, line := range r {
				out = appendDifference(out, rules, Difference{At: at + " " + line, Real: []string{"written"}})
			}
			continue
		}
		out = appendDifference(out, rules, Difference{At: at, Planned: p, Real: r})
	}
	return out
}

// without are the lines of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// appendDifference appends what is no difference by the first rule that fits it, or if none does is equal.
func appendDifference(all []Difference, rules []scenarios.Rule, d Difference) []Difference {
	same := slices.Equal(d.Planned, d.Real)
	switch scenarios.RuleFor(rules, d.At).As {
	case scenarios.Ignored:
		same = true
	case scenarios.Presence:
		same = len(without(d.Planned, d.Real)) == 0 && len(without(d.Real, d.Planned)) == 0
	case scenarios.Ends:
		same = len(d.Planned) > 0 && len(d.Real) > 0 && d.Planned[0] == d.Real[0] &&
			d.Planned[len(d.Planned)-1] == d.Real[len(d.Real)-1]
	}
	if same {
		return all
	}
	return append(all, d)
}

// compareObjects lists in what the objects differ that a plan and a control plane lead to.
func compareObjects(planned, done *scenarios.Outcome, rules []scenarios.Rule) []Difference {
	trim(planned)
	trim(done)
	refused := refusedNames(done)
	for _, o := range []*scenarios.Outcome{planned, done} {
		for _, object := range o.Objects {
			eachText(object.Object, func(text string) string { return refused.ReplaceAllString(text, "$1*") })
		}
	}
	var out []Difference
	for _, d := range scenarios.Compare(done, planned, rules) {
		out = append(out, Difference{At: d.At, Planned: []string{d.Embedded}, Real: []string{d.Real}})
	}
	return out
}

// refusedNames finds generated names of objects that were never made, since they were refused, in messages: those that
// begin with the name of an object.
func refusedNames(o *scenarios.Outcome) *regexp.Regexp {
	var names []string
	for _, object := range o.Objects {
		names = append(names, regexp.QuoteMeta(object.GetName()))
	}
	return regexp.MustCompile(`(pods "(?:` + strings.Join(names, "|") + `)-)(?:` + generatedPart + `)"`)
}

// eachText replaces each text below a value, which is a map or a list.
func eachText(v any, by func(string) string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok {
				v[key] = by(text)
			} else {
				eachText(value, by)
			}
		}
	case []any:
		for i, value := range v {
			if text, ok := value.(string); ok {
				v[i] = by(text)
			} else {
				eachText(value, by)
			}
		}
	}
}

// trim leaves the objects of an outcome, and of these what a plan says: nothing of versions and managed fields, nothing
// that is empty, and no order of entries that have names.
func trim(o *scenarios.Outcome) {
	o.Events, o.Writes = nil, nil
	for i, object := range o.Objects {
		u := object.DeepCopy()
		for _, field := range unplanned {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		for _, key := range uncompared {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations", key)
		}
		content, _ := trimmed(u.Object).(map[string]any) // which is not empty: it has a kind
		o.Objects[i] = scenarios.Object{
			Resource: u.GetKind(), Unstructured: &unstructured.Unstructured{Object: content},
		}
	}
}

// trimmed returns the value without what is empty in it; nil if all is.
func trimmed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value = trimmed(value); value != nil {
				out[key] = value
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, entry := range v {
			if entry = trimmed(entry); entry != nil {
				out = append(out, entry)
			}
		}
		if len(out) == 0 {
			return nil
		}
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(entryName(a), entryName(b)) })
		return out
	}
	return v
}

// entryName is by what the entry of a list is told from others; empty for those that keep their place.
func entryName(entry any) string {
	m, ok := entry.(map[string]any)
	if !ok {
		return ""
	}
	if target, ok := m["targetRef"].(map[string]any); ok { // of an endpoint, whose address is chance
		return fmt.Sprint(target["name"])
	}
	for _, field := range []string{"type", "name", "uid", "containerPort", "port", "ip", "key"} {
		if value, ok := m[field]; ok {
			return fmt.Sprint(value)
		}
	}
	return ""
}
