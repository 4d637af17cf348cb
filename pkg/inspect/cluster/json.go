package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectJSON reads one object as the server writes it in JSON, fields that this program does not know included. The
// error is the server's.
func (r *Reader) ObjectJSON(ctx context.Context, kind Kind, namespace, name string) (json.RawMessage, error) {
	path, err := objectPath(&kind, namespace, name)
	if err != nil {
		return nil, err
	}
	var out json.RawMessage
	err = r.get(ctx, path, acceptJSON, func(a answer) error {
		if !json.Valid(a) {
			return a.decode(&out, nil) // for the error
		}
		out = bytes.Clone(a)
		return nil
	})
	return out, err
}

// ListJSON lists the objects of a kind in full, in pages, and calls each for every object, in the server's order, with
// its JSON as in ObjectJSON, which belongs to the callee. Items of the lists of built-in kinds have no apiVersion and
// kind. If the list had to be restarted because its continue token expired, each is called again for the objects that
// it has had. An error of each ends the list and is returned; other errors are the server's, or that items are left out
// because they are null. As each is called while the answer is being read, it must not wait for other requests of the
// reader.
//
// The result is the resource version of the list.
func (r *Reader) ListJSON(
	ctx context.Context, target Target, o ListOptions, each func(json.RawMessage) error,
) (string, error) {
	path, err := pathSegments(&target.Kind, target.Namespace, "")
	if err != nil {
		return "", err
	}
	progress := r.progress.begin(&target.Kind)
	defer progress.end()
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: o.Labels, FieldSelector: o.Fields}
	if o.At != "" {
		at := options
		at.ResourceVersion, at.ResourceVersionMatch = o.At, metav1.ResourceVersionMatchExact
		version, err := r.listJSON(ctx, path, at, progress, each)
		if !lacksVersion(err) {
			return version, err
		}
	}
	return r.listJSON(ctx, path, options, progress, each)
}

// lacksVersion reports whether an error is that of a server which does not have a resource, or its state, at the
// version that was asked for.
func lacksVersion(err error) bool {
	return IsExpired(err) || apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// listJSON lists what the options say.
func (r *Reader) listJSON(
	ctx context.Context, path []string, options metav1.ListOptions, progress *listProgress,
	each func(json.RawMessage) error,
) (string, error) {
	var left unusable
	version, err := pages(ctx, options, func(options *metav1.ListOptions) (list metav1.ListMeta, err error) {
		err = r.stream(ctx, path, acceptJSON, options, func(in io.Reader) error {
			return r.readAll(in, func(a answer) error {
				return a.eachItem(ctx, &list, &left, func(item json.RawMessage) error {
					progress.addObjects(1)
					return each(item)
				})
			})
		})
		progress.endPage(list)
		return list, err
	})
	return version, cmp.Or(err, left.err())
}
