package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Scenario is a sequence of inputs to a control plane, each of which is answered in full before the next one comes.
type Scenario struct {
	// Name is that of the file without ".yaml", and that of the scenario's namespace.
	Name string `json:"-"`
	// About says in a line what the scenario shows.
	About string `json:"about"`
	// Controllers must run, by kube-controller-manager's names without "-controller".
	Controllers []string `json:"controllers"`
	// Alone says that no other scenario is played meanwhile: this one makes what others would meet, such as nodes.
	Alone bool `json:"alone,omitempty"`
	// Rules weaken how this scenario's counts are compared; they come before those of all scenarios.
	Rules []Rule `json:"rules,omitempty"`
	Steps []Step `json:"steps"`
}

// Step is one input, and what must hold afterwards. It has one of Create, Apply, Kubectl, Patch, Delete, Ready, Evict,
// or none of them: then it only waits. Every step ends when its conditions hold and nothing changes any more.
type Step struct {
	// Create are manifests to create, in order.
	Create []json.RawMessage `json:"create,omitempty"`
	// Apply are manifests for server-side apply by the field manager "user".
	Apply []json.RawMessage `json:"apply,omitempty"`
	// Kubectl are manifests for `kubectl apply`, on sides that have one: see Side.Kubectl. Flags are its flags.
	Kubectl []json.RawMessage `json:"kubectl,omitempty"`
	Flags   []string          `json:"flags,omitempty"`
	Patch   *Patch            `json:"patch,omitempty"`
	Delete  *Delete           `json:"delete,omitempty"`
	Ready   *Ready            `json:"ready,omitempty"`
	Evict   *Evict            `json:"evict,omitempty"`
	Wait    []Condition       `json:"wait,omitempty"`
	// Quiet may be written out where a step does nothing but wait for it.
	Quiet bool `json:"quiet,omitempty"`
}

// Selection names objects: one by its name, or some by labels.
type Selection struct {
	// Object is RESOURCE.GROUP/NAME, or RESOURCE.GROUP for several; the core group has no ".GROUP".
	Object string `json:"object"`
	// Selector of labels, for several; empty means all.
	Selector string `json:"selector,omitempty"`
	// First limits a selection to so many; 0 is no limit. Objects are sorted by the step in which they came to be, then
	// by owner: those that cannot be told apart by that must be alike.
	First int `json:"first,omitempty"`
	// Order is oldest (the same as nothing) or newest.
	Order string `json:"order,omitempty"`
}

// Patch changes objects.
type Patch struct {
	Selection
	// Type is merge (the same as nothing), json or strategic.
	Type        string          `json:"type,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Body        json.RawMessage `json:"body"`
}

// Delete deletes objects.
type Delete struct {
	Selection
	// Propagation is Background, Foreground or Orphan; nothing leaves it to the server.
	Propagation string `json:"propagation,omitempty"`
	// Grace is the period in seconds; nothing leaves it to the server.
	Grace *int64 `json:"grace,omitempty"`
}

// Ready sets the conditions that pods name in spec.readinessGates, one pod after the other, each after the last one's
// effects. A template with a gate holds its pods not ready until then.
type Ready struct {
	Selection
	// Status of the conditions; nothing is "True".
	Status string `json:"status,omitempty"`
}

// Condition is what must hold of the objects selected.
type Condition struct {
	Selection
	// Path is a JSONPath such as {.status.readyReplicas}, braces optional; nothing means that the object's presence is
	// all.
	Path string `json:"path,omitempty"`
	// Value is what the path must lead to; nothing means that it must lead somewhere.
	Value json.RawMessage `json:"value,omitempty"`
	// Count is how many objects must meet it; nothing means all, and one at least.
	Count *int `json:"count,omitempty"`
	// Absent turns it round: no object meets it.
	Absent bool `json:"absent,omitempty"`
}

// Load reads all scenarios of a folder, sorted by name.
func Load(files fs.FS, dir string) ([]Scenario, error) {
	return LoadEach(files, dir, func(name string, data []byte) (Scenario, error) {
		s := Scenario{Name: name}
		return s, errors.Join(yaml.UnmarshalStrict(data, &s), s.Validate())
	})
}

// LoadEach reads the YAML files of a folder, sorted by name. read gets the name of each without .yaml.
func LoadEach[T any](files fs.FS, dir string, read func(name string, data []byte) (T, error)) ([]T, error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing the files of %q: %w", dir, err)
	}
	slices.Sort(paths)
	var all []T
	for _, file := range paths {
		data, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", file, err)
		}
		one, err := read(strings.TrimSuffix(path.Base(file), ".yaml"), data)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", file, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// Validate returns what is wrong with the scenario.
func (s *Scenario) Validate() error {
	if s.About == "" || len(s.Steps) == 0 {
		return errors.New("it needs about and steps")
	}
	errs := []error{validateRules(s.Rules)}
	for i := range s.Steps {
		if err := s.Steps[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("step %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

// Validate returns what is wrong with the step.
func (s *Step) Validate() error {
	inputs := 0
	for _, given := range []bool{
		s.Create != nil, s.Apply != nil, s.Kubectl != nil, s.Patch != nil,
		s.Delete != nil, s.Ready != nil, s.Evict != nil,
	} {
		if given {
			inputs++
		}
	}
	switch {
	case inputs > 1:
		return errors.New("it has more than one input")
	case inputs == 0 && len(s.Wait) == 0 && !s.Quiet:
		return errors.New("it has no input and waits for nothing")
	}
	var errs []error
	for _, selection := range s.selections() {
		errs = append(errs, selection.validate())
	}
	for _, c := range s.Wait {
		_, err := c.compile()
		errs = append(errs, err)
	}
	if s.Patch != nil {
		_, err := s.Patch.patchType()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// selections are all that the step names.
func (s *Step) selections() []Selection {
	var all []Selection
	if s.Patch != nil {
		all = append(all, s.Patch.Selection)
	}
	if s.Delete != nil {
		all = append(all, s.Delete.Selection)
	}
	if s.Ready != nil {
		all = append(all, s.Ready.Selection)
	}
	if s.Evict != nil {
		all = append(all, s.Evict.Selection)
	}
	for _, c := range s.Wait {
		all = append(all, c.Selection)
	}
	return all
}

// Controllers are those that the scenarios need, sorted and each once.
func Controllers(all []Scenario) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Controllers...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
