package plans

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// Case is a change to be planned and then made. Its scenario is what there is at the beginning.
type Case struct {
	scenarios.Scenario
	// Change is made by kubectl: the step has no other input. What it waits for must hold at the end.
	Change scenarios.Step `json:"change"`
	// PlanFlags are flags of `kubectl reconcile diff` only, such as --wait 5s; those of both are the step's.
	PlanFlags []string `json:"planFlags,omitempty"`
}

// Load reads all cases of a folder, sorted by name.
func Load(files fs.FS, dir string) ([]Case, error) {
	names, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing cases in %q: %w", dir, err)
	}
	slices.Sort(names)
	var all []Case
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading case %q: %w", name, err)
		}
		c := Case{}
		if err := yaml.UnmarshalStrict(data, &c); err != nil {
			return nil, fmt.Errorf("reading case %q: %w", name, err)
		}
		c.Name = strings.TrimSuffix(path.Base(name), ".yaml")
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("reading case %q: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func (c *Case) validate() error {
	if c.Change.Kubectl == nil {
		return errors.New("its change needs kubectl")
	}
	if err := c.Change.Validate(); err != nil {
		return fmt.Errorf("its change: %w", err)
	}
	return c.Validate()
}
