package plans

import (
	"errors"
	"fmt"
	"io/fs"

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
	return scenarios.LoadEach(files, dir, func(name string, data []byte) (Case, error) {
		c := Case{}
		if err := yaml.UnmarshalStrict(data, &c); err != nil {
			return c, err
		}
		c.Name = name
		return c, c.validate()
	})
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
