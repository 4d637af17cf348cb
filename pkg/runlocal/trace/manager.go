package trace

import (
	"encoding/json"
	"sync"
)

// Manager is the name of the field manager that wrote an object, found when it is asked for. Nil is one that is not
// known.
type Manager struct {
	find func() string
}

// ManagerFrom returns a Manager whose name find finds, at most once and only when it is asked for. find must not depend
// on anything that changes later; it returns "" if it does not know.
func ManagerFrom(find func() string) *Manager {
	return &Manager{find: sync.OnceValue(find)}
}

// Name returns the name, empty if it is not known. It may be called concurrently, and on nil.
func (m *Manager) Name() string {
	if m == nil {
		return ""
	}
	return m.find()
}

// IsZero reports whether the name is not known: then JSON leaves it out.
func (m *Manager) IsZero() bool { return m.Name() == "" }

// MarshalJSON writes the name.
func (m *Manager) MarshalJSON() ([]byte, error) { return encode(m.Name()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Manager) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	m.find = func() string { return name }
	return nil
}
