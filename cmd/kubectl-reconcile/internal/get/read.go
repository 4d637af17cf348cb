package get

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// objectList is the objects of one kind, in the server's order or in that in which they were named.
type objectList struct {
	kind cluster.Kind
	// objects are as the server writes them, maybe without apiVersion and kind.
	objects []json.RawMessage
}

// read reads the targets one after the other. The error joins those of what could not be read.
func (o *Options) read(ctx context.Context, opened *connect.Cluster, targets []connect.Target) ([]objectList, error) {
	var lists []objectList
	var errs []error
	for _, t := range targets {
		if last := len(lists) - 1; last < 0 || t.Name == "" || lists[last].kind.GVR() != t.Kind.GVR() {
			lists = append(lists, objectList{kind: t.Kind})
		}
		list := &lists[len(lists)-1]
		if err := o.readTarget(ctx, opened, t, list); err != nil {
			errs = append(errs, o.connection.ReadError(ctx, opened, t, o.targets.AllNamespaces, err))
		}
	}
	return lists, errors.Join(errs...)
}

func (o *Options) readTarget(
	ctx context.Context, opened *connect.Cluster, t connect.Target, list *objectList,
) error {
	if t.Name != "" {
		object, err := opened.Reader.ObjectJSON(ctx, t.Kind, t.Namespace, t.Name)
		if err == nil {
			list.objects = append(list.objects, object)
		}
		return err
	}
	options := cluster.ListOptions{Labels: o.targets.Labels, Fields: o.targets.Fields}
	_, err := opened.Reader.ListJSON(ctx, t.Target, options, func(object json.RawMessage) error {
		list.objects = append(list.objects, object)
		return nil
	})
	return err
}

// countOf returns how many objects the lists have.
func countOf(lists []objectList) int {
	n := 0
	for i := range lists {
		n += len(lists[i].objects)
	}
	return n
}
