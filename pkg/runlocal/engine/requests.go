package engine

import (
	"cmp"
	"slices"
	"sync"
)

func contains(requests []Request, r Request) bool { return slices.Contains(requests, r) }

// counter counts by request. Its methods may be called concurrently; the zero value is ready.
type counter struct {
	mu     sync.Mutex
	counts map[Request]int
}

// next adds one.
func (c *counter) next(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[Request]int{}
	}
	c.counts[r]++
}

func (c *counter) of(r Request) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[r]
}

func (c *counter) reset(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.counts, r)
}

// set is a set of requests. Its methods may be called concurrently; the zero value is ready.
type set struct {
	mu       sync.Mutex
	requests map[Request]struct{}
}

func (s *set) add(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		s.requests = map[Request]struct{}{}
	}
	s.requests[r] = struct{}{}
}

// remove reports whether r was in the set.
func (s *set) remove(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.requests[r]
	delete(s.requests, r)
	return ok
}

// sorted lists the requests by namespace and name.
func (s *set) sorted() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for r := range s.requests {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
