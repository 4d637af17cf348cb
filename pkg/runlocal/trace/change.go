package trace

import (
	"encoding/json"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// ChangeFrom returns a Change whose fields compare finds, at most once and only when they are asked for: most changes
// are never looked at. compare must not depend on anything that changes later.
func ChangeFrom(compare func() []inspect.Change) *Change {
	return &Change{fields: sync.OnceValue(compare)}
}

// Fields are the fields that differ, by path. It may be called concurrently; nil for a nil Change.
func (c *Change) Fields() []inspect.Change {
	if c == nil {
		return nil
	}
	return c.fields()
}

// MarshalJSON writes the fields as a list.
func (c *Change) MarshalJSON() ([]byte, error) { return encode(c.Fields()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var fields []inspect.Change
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	c.fields = func() []inspect.Change { return fields }
	return nil
}
