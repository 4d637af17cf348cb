package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unusable counts the objects of a list that cannot be decoded. They are left out, and the list goes on: one broken
// object must not hide all others of its kind.
type unusable struct {
	count int
	first error
}

// skip counts an object and returns nil if err is that it cannot be decoded. Other errors, which are of its handler,
// are returned.
func (u *unusable) skip(err error, name string) error {
	if !errors.Is(err, errUnreadable) {
		return err
	}
	if u.count++; u.first == nil {
		u.first = fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// err returns the error of a list that was read without the objects; nil if there are none.
func (u *unusable) err() error {
	switch u.count {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("one object is left out: %w", u.first)
	}
	return fmt.Errorf("%d objects are left out; the first: %w", u.count, u.first)
}

// eachItem decodes a page in JSON into its metadata and calls each for one object after the other, until ctx ends.
func (a answer) eachItem(
	ctx context.Context, list *metav1.ListMeta, left *unusable, each func(json.RawMessage) error,
) error {
	var page struct {
		Kind            string
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := a.decode(&page, nil); err != nil {
		return err
	}
	if page.Kind == "Status" || page.Kind == "" && page.Items == nil {
		return unreadable(fmt.Errorf("a list was requested, and the answer is of kind %q", page.Kind))
	}
	*list = page.ListMeta
	for i, item := range page.Items {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := unreadable(errors.New("it is null"))
		if string(item) != "null" {
			err = each(item)
		}
		if err == nil {
			continue
		}
		if err := left.skip(err, nameOfItem(i, item)); err != nil {
			return err
		}
	}
	return nil
}

// nameOfItem returns the name of an object that could not be decoded, else its place in the list.
func nameOfItem(index int, item json.RawMessage) string {
	var object struct {
		Metadata struct{ Namespace, Name string } `json:"metadata"`
	}
	_ = json.Unmarshal(item, &object) // what can be decoded is set
	return nameOrIndex(index, object.Metadata.Namespace, object.Metadata.Name)
}

func nameOrIndex(index int, namespace, name string) string {
	switch {
	case name == "":
		return fmt.Sprintf("items[%d]", index)
	case namespace == "":
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q", namespace+"/"+name)
}
