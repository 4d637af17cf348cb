package get

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// sorter orders objects by a field as `kubectl get --sort-by` does. It mirrors RuntimeSort.Less and isLess of
// k8s.io/kubectl/pkg/cmd/get/sorter.go. Objects that do not have the field come first, and those with the same value
// stay in their order.
type sorter struct {
	// given is the field as the user wrote it.
	given string
	path  *jsonpath.JSONPath
}

// relaxedPath matches the forms of a path that kubectl takes: x.y, .x.y, {x.y} and {.x.y}.
var relaxedPath = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// newSorter returns a sorter by a JSONPath; nil for an empty one.
func newSorter(given string) (*sorter, error) {
	if given == "" {
		return nil, nil
	}
	const hint = "for example .metadata.creationTimestamp or .status.containerStatuses[0].restartCount"
	match := relaxedPath.FindStringSubmatch(given)
	if match == nil || strings.HasSuffix(given, ".") {
		return nil, cli.WithHint(fmt.Errorf("--sort-by %q is not one JSONPath", given), hint)
	}
	path := jsonpath.New("sort-by").AllowMissingKeys(true)
	if err := path.Parse("{." + match[1] + match[2] + "}"); err != nil {
		return nil, cli.WithHint(fmt.Errorf("--sort-by %q: %w", given, err), hint)
	}
	return &sorter{given, path}, nil
}

// sortable is an object with the value that it is sorted by; nil if it has none.
type sortable struct {
	value any
	index int
}

// order returns the indexes of objects in their order. The error is that none has the field, or that values cannot be
// compared.
func (s *sorter) order(objects []json.RawMessage) ([]int, error) {
	all := make([]sortable, len(objects))
	found := false
	for i, object := range objects {
		value, err := s.value(object)
		if err != nil {
			return nil, err
		}
		all[i] = sortable{value, i}
		found = found || value != nil
	}
	if !found && len(objects) > 0 {
		return nil, cli.WithHint(fmt.Errorf("--sort-by %s: no object has that field", s.given),
			"-o yaml shows which fields there are")
	}
	var err error
	slices.SortStableFunc(all, func(a, b sortable) int {
		n, ok := compareValues(a.value, b.value)
		if !ok && err == nil {
			err = fmt.Errorf("--sort-by %s: %s and %s cannot be compared", s.given, typeText(a.value),
				typeText(b.value))
		}
		return n
	})
	out := make([]int, len(all))
	for i := range all {
		out[i] = all[i].index
	}
	return out, err
}

// value returns the first value of an object at the path; nil if there is none.
func (s *sorter) value(object json.RawMessage) (any, error) {
	fields := map[string]any{}
	if err := utiljson.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	results, err := s.path.FindResults(fields)
	if err != nil {
		return nil, fmt.Errorf("--sort-by %s: %w", s.given, err)
	}
	if len(results) == 0 || len(results[0]) == 0 || !results[0][0].CanInterface() {
		return nil, nil
	}
	if first := results[0][0]; first.Kind() != reflect.Interface || !first.IsNil() {
		return first.Interface(), nil
	}
	return nil, nil
}

// compareValues compares two values of JSON; ok is false if that makes no sense. Texts that are quantities are compared
// as these.
func compareValues(a, b any) (n int, ok bool) {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0, true
		}
		return -1, true
	case string:
		if y, ok := b.(string); ok {
			return compareTexts(x, y), true
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	}
	if b == nil {
		return 1, true
	}
	x, okX := numberOf(a)
	y, okY := numberOf(b)
	return cmp.Compare(x, y), okX && okY
}

func compareTexts(a, b string) int {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return cmp.Compare(a, b)
	}
	y, err := resource.ParseQuantity(b)
	if err != nil {
		return cmp.Compare(a, b)
	}
	return x.Cmp(y)
}

func numberOf(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// typeText names the type of a value of JSON.
func typeText(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case int64, float64:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	}
	return "an object"
}

// sort orders the objects: in a table those of each kind, in other formats those of all kinds, as kubectl does.
func (o *Options) sort(lists []objectList) ([]objectList, error) {
	if o.sorter == nil {
		return lists, nil
	}
	if o.output != "" && o.output != "wide" {
		return o.sortAll(lists)
	}
	for i := range lists {
		order, err := o.sorter.order(lists[i].objects)
		if err != nil {
			return nil, err
		}
		lists[i] = lists[i].in(order)
	}
	return lists, nil
}

// sortAll orders the objects of all lists, each of which becomes a list.
func (o *Options) sortAll(lists []objectList) ([]objectList, error) {
	var all []json.RawMessage
	var single []objectList
	for i := range lists {
		for _, object := range lists[i].objects {
			all = append(all, object)
			single = append(single, objectList{kind: lists[i].kind, objects: []json.RawMessage{object}})
		}
	}
	order, err := o.sorter.order(all)
	if err != nil {
		return nil, err
	}
	out := make([]objectList, len(order))
	for i, n := range order {
		out[i] = single[n]
	}
	return out, nil
}

// in returns the list with its objects in an order.
func (l objectList) in(order []int) objectList {
	out := objectList{kind: l.kind}
	for _, n := range order {
		out.objects = append(out.objects, l.objects[n])
	}
	return out
}
