package runlocal

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// discover reads the kinds that the API serves.
func (s *Session) discover(ctx context.Context) (*cluster.Kinds, error) {
	kinds, err := cluster.Discover(ctx, s.Config())
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the API: %w", err)
	}
	s.kinds.Store(kinds)
	return kinds, nil
}

// knownKinds returns the kinds as they were last read, and reads them if that was never.
func (s *Session) knownKinds(ctx context.Context) (*cluster.Kinds, error) {
	if kinds := s.kinds.Load(); kinds != nil {
		return kinds, nil
	}
	return s.discover(ctx)
}

// kind returns a kind that the API serves, and reads the kinds again if it is not known: it may just have been defined.
// The error is a *cluster.UnknownKindError for a kind that is not served.
func (s *Session) kind(ctx context.Context, of schema.GroupVersionKind) (cluster.Kind, error) {
	kinds, err := s.knownKinds(ctx)
	if err != nil {
		return cluster.Kind{}, err
	}
	if kind, ok, _ := kinds.Lookup(of); ok {
		return kind, nil
	}
	if kinds, err = s.discover(ctx); err != nil {
		return cluster.Kind{}, err
	}
	kind, ok, err := kinds.Lookup(of)
	if err == nil && !ok {
		err = kinds.Unknown(of)
	}
	return kind, err
}

// servesAll reads the kinds again, and reports whether all of these are served.
func (s *Session) servesAll(ctx context.Context, wanted ...schema.GroupKind) bool {
	kinds, err := s.discover(ctx)
	return err == nil && !slices.ContainsFunc(wanted, func(kind schema.GroupKind) bool {
		_, ok, _ := kinds.Lookup(kind.WithVersion(""))
		return !ok
	})
}
