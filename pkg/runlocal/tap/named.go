package tap

import "fmt"

// SwapNamed is SwapQueue for one of several controllers in one, whose queues are in fields of the same name: name tells
// them apart in the trace.
func SwapNamed[K comparable](c *Controller, target any, field, name string, key func(K) string) error {
	f, err := fieldOf(target, field)
	if err != nil {
		return fmt.Errorf("observing the queue of controller %q: %w", c.name, err)
	}
	if err := swapIn(c, f, name, key); err != nil {
		return fmt.Errorf("observing the queue of controller %q: field %q of %T is a %v, not a %w", c.name, field, target, f.Type(), err)
	}
	return nil
}
