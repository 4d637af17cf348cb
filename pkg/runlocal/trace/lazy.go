package trace

import (
	"encoding/json"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Change is the difference of two versions of an object, which is computed on first use.
type Change struct {
	fields func() []fields.Change
}

// ChangeFrom returns a Change whose fields are the result of compare, which is called at most once, and only if they
// are read: most changes are never read. compare must not depend on anything that changes later.
func ChangeFrom(compare func() []fields.Change) *Change {
	return &Change{fields: sync.OnceValue(compare)}
}

// Fields returns the fields that differ, sorted by path. It may be called concurrently, and returns nil for a nil
// Change.
func (c *Change) Fields() []fields.Change {
	if c == nil {
		return nil
	}
	return c.fields()
}

// MarshalJSON writes the fields as a list, which is empty if nothing differs.
func (c *Change) MarshalJSON() ([]byte, error) {
	if fields := c.Fields(); fields != nil {
		return encode(fields)
	}
	return []byte("[]"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var changes []fields.Change
	if err := json.Unmarshal(b, &changes); err != nil {
		return err
	}
	c.fields = func() []fields.Change { return changes }
	return nil
}

// Manager is the field manager that wrote an object, which is found on first use. A nil Manager is unknown.
type Manager struct {
	find func() fields.Writer
}

// ManagerFrom returns a Manager that is the result of find, which is called at most once, and only if it is read. find
// must not depend on anything that changes later. It returns the zero value if the manager is unknown.
func ManagerFrom(find func() fields.Writer) *Manager {
	return &Manager{find: sync.OnceValue(find)}
}

// Writer returns the manager with its operation and subresource, the zero value if it is unknown. It may be called
// concurrently, and on nil.
func (m *Manager) Writer() fields.Writer {
	if m == nil {
		return fields.Writer{}
	}
	return m.find()
}

// Name returns the name, empty if it is unknown. It may be called concurrently, and on nil.
func (m *Manager) Name() string { return m.Writer().Manager }

// IsZero reports whether the name is unknown: JSON omits it then.
func (m *Manager) IsZero() bool { return m.Name() == "" }

// MarshalJSON writes the name.
func (m *Manager) MarshalJSON() ([]byte, error) { return encode(m.Name()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Manager) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	m.find = func() fields.Writer { return fields.Writer{Manager: name} }
	return nil
}
