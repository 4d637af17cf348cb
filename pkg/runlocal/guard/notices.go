package guard

import "sync"

// notices tells of each sort of write once.
type notices struct {
	tell func(Notice) // may be nil

	mu   sync.Mutex
	told map[Notice]bool
}

func (n *notices) of(c *call, reason string) {
	notice := Notice{Verb: c.info.Verb, Resource: c.resource(), Reason: reason}
	n.mu.Lock()
	told := n.told[notice]
	if n.told == nil {
		n.told = map[Notice]bool{}
	}
	n.told[notice] = true
	n.mu.Unlock()
	if !told && n.tell != nil {
		n.tell(notice)
	}
}
