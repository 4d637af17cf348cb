package scenarios

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// compiled is a condition that can be tested.
type compiled struct {
	Condition
	path  *jsonpath.JSONPath // nil for none
	value any
}

func (c Condition) compile() (*compiled, error) {
	out := &compiled{Condition: c}
	if c.Path != "" {
		out.path = jsonpath.New(c.Path).AllowMissingKeys(true)
		text := "{" + strings.Trim(c.Path, "{}") + "}"
		if err := out.path.Parse(text); err != nil {
			return nil, fmt.Errorf("reading path %q of a condition: %w", c.Path, err)
		}
	}
	if len(c.Value) > 0 {
		if err := json.Unmarshal(c.Value, &out.value); err != nil {
			return nil, fmt.Errorf("reading value %s of a condition: %w", c.Value, err)
		}
	}
	return out, nil
}

// unmet says what is missing; it is empty if the condition holds.
func (c *compiled) unmet(objects []*seen) string {
	selected := c.pick(objects)
	met, found := 0, []string{}
	for _, o := range selected {
		value, ok := c.at(o.Object)
		if c.path == nil || ok && (c.value == nil || reflect.DeepEqual(value, c.value)) {
			met++
		}
		found = append(found, text(value))
	}
	want, holds := "one at least, and all", met > 0 && met == len(selected)
	switch {
	case c.Absent:
		want, holds = "none", met == 0
	case c.Count != nil:
		want, holds = fmt.Sprint(*c.Count), met == *c.Count
	}
	if holds {
		return ""
	}
	return fmt.Sprintf("%s %s: %s %s in %d of %d, wanted %s; found %s",
		c.Object, c.Selector, c.Path, string(c.Value), met, len(selected), want, strings.Join(found, ", "))
}

// at is what the path leads to, as JSON reads it.
func (c *compiled) at(object map[string]any) (any, bool) {
	if c.path == nil {
		return nil, false
	}
	found, err := c.path.FindResults(object)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil, false
	}
	data, err := json.Marshal(found[0][0].Interface())
	if err != nil {
		return nil, false
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, false
	}
	return value, true
}

// text is a value on one line.
func text(v any) string {
	if v == nil {
		return "-"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
