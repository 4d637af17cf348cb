package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is something that the two sides do not have in common.
type Difference struct {
	// At says what it is: "object RESOURCE/NAME PATH", "event COMPONENT KIND TYPE REASON",
	// "message COMPONENT KIND TYPE REASON: TEXT", or "write CONTROLLER VERB RESOURCE[/SUBRESOURCE] [REASON]".
	At string
	// Real and Embedded are the values; "(none)" where there is none.
	Real, Embedded string
}

// String is the difference on three lines.
func (d Difference) String() string {
	return fmt.Sprintf("%s\n    real:     %s\n    embedded: %s", d.At, d.Real, d.Embedded)
}

// Compare lists the differences of two outcomes, sorted. Rules say what is not compared exactly: the first that fits
// holds.
func Compare(upstream, embedded *Outcome, rules []Rule) []Difference {
	r, e := newNormaliser(upstream), newNormaliser(embedded)
	out := slices.DeleteFunc(compareObjects(r.objects(upstream), e.objects(embedded)), func(d Difference) bool {
		return RuleFor(rules, d.At).As == Ignored
	})
	out = append(out, compareCounts(r.events(upstream), e.events(embedded), rules)...)
	out = append(out, compareCounts(countWrites(upstream.Writes), countWrites(embedded.Writes), rules)...)
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.At, b.At) })
	return out
}

// objects groups the outcome's objects by resource and normalised name. Within a group they are sorted, so that those
// that are alike stand at the same place on both sides.
func (n *normaliser) objects(o *Outcome) map[string][]map[string]any {
	groups := map[string][]map[string]any{}
	for _, object := range o.Objects {
		key := object.Resource + "/" + n.text(object.GetName())
		groups[key] = append(groups[key], n.object(object))
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b map[string]any) int { return strings.Compare(canonical(a), canonical(b)) })
	}
	return groups
}

func canonical(v any) string {
	data, err := json.Marshal(v) // keys are sorted
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func compareObjects(upstream, embedded map[string][]map[string]any) []Difference {
	var out []Difference
	for _, key := range union(upstream, embedded) {
		r, e := withoutEqual(upstream[key], embedded[key])
		for i := range max(len(r), len(e)) {
			var left, right any = absent{}, absent{}
			if i < len(r) {
				left = r[i]
			}
			if i < len(e) {
				right = e[i]
			}
			for _, d := range diffTrees("", left, right) {
				at := strings.TrimSpace("object " + key + " " + d.path)
				out = append(out, Difference{At: at, Real: value(d.upstream), Embedded: value(d.embedded)})
			}
		}
	}
	return out
}

// withoutEqual leaves out the objects that both sides have.
func withoutEqual(upstream, embedded []map[string]any) (r, e []map[string]any) {
	left := map[string]int{}
	for _, o := range embedded {
		left[canonical(o)]++
	}
	for _, o := range upstream {
		if left[canonical(o)] > 0 {
			left[canonical(o)]--
			continue
		}
		r = append(r, o)
	}
	for _, o := range embedded {
		if left[canonical(o)] > 0 {
			left[canonical(o)]--
			e = append(e, o)
		}
	}
	return r, e
}

// value is a value on a line that can be read.
func value(v any) string {
	const longest = 600
	s := canonical(v)
	if _, none := v.(absent); none {
		s = absent{}.String()
	}
	if len(s) > longest {
		s = s[:longest] + " …"
	}
	return s
}

// combined begins the message of an Event that combines similar ones (client-go's tools/record/events_cache.go).
const combined = "(combined from similar events): "

// conflict is what the message of an Event ends with if a write conflicted with another one (k8s.io/apiserver's
// pkg/registry/generic/registry/store.go).
const conflict = "the object has been modified; please apply your changes to the latest version and try again"

// events counts occurrences, and tells which messages there were, but of conflicts. How often each came is lost where
// client-go combines them.
func (n *normaliser) events(o *Outcome) map[string]int {
	counts := map[string]int{}
	for _, e := range o.Events {
		if strings.HasSuffix(e.Message, conflict) {
			continue
		}
		sort := fmt.Sprintf("%s %s %s %s", e.Component, e.Kind, e.Type, e.Reason)
		counts["event "+sort] += int(e.Count)
		counts["message "+sort+": "+n.text(strings.TrimPrefix(e.Message, combined))] = 1
	}
	return counts
}

func countWrites(writes []Write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		counts["write "+w.Key()]++
	}
	return counts
}

func compareCounts(upstream, embedded map[string]int, rules []Rule) []Difference {
	var out []Difference
	for _, key := range union(upstream, embedded) {
		if r, e := upstream[key], embedded[key]; !RuleFor(rules, key).allows(r, e) {
			out = append(out, Difference{At: key, Real: fmt.Sprint(r), Embedded: fmt.Sprint(e)})
		}
	}
	return out
}

// union are the keys of both, sorted.
func union[K cmp.Ordered, V any](a, b map[K]V) []K {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
