package apijson

import (
	"bytes"
	"errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// Item is an object as the server wrote it.
type Item struct {
	rawjson.Meta
	JSON []byte
}

// Page is a page of a list. Continue is empty on the last one.
type Page struct {
	Items             []Item
	Version, Continue string
}

// ReadPage reads the answer to a list. The items do not share its memory. A list without a resource version is an
// error.
func ReadPage(body []byte) (Page, error) {
	var out Page
	s := rawjson.NewScanner(body)
	err := s.Object(func(key []byte) error {
		switch {
		case string(key) == "metadata":
			return readListMeta(s, &out)
		case string(key) == "items" && s.Peek() == '[':
			return s.Array(func(int) error {
				one := Item{}
				span, err := one.Object(s)
				one.JSON = bytes.Clone(body[span.Start:span.End])
				out.Items = append(out.Items, one)
				return err
			})
		}
		_, err := s.Skip()
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && out.Version == "" {
		err = errors.New("it has no resource version")
	}
	return out, err
}

// readListMeta reads the metadata of a list.
func readListMeta(s *rawjson.Scanner, to *Page) error {
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "resourceVersion":
			to.Version, err = s.String()
		case "continue":
			to.Continue, err = s.String()
		default:
			_, err = s.Skip()
		}
		return err
	})
}
