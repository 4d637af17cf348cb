package guard

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is where a list of several namespaces goes on. It is the continue token of such a list.
type page struct {
	// Of tells it from other tokens: it is pageOf.
	Of string `json:"of"`
	// Namespace is an index.
	Namespace int `json:"n"`
	// Version is that of the first namespace's list, of which all others must be; empty at the very begin.
	Version string `json:"v,omitempty"`
	// Continue is the server's own token, empty at the begin of a namespace.
	Continue string `json:"c,omitempty"`
}

// pageOf is what our tokens are of.
const pageOf = "namespaces"

func (p page) token() string {
	p.Of = pageOf
	text, err := json.Marshal(p)
	if err != nil {
		return "" // two strings and a number can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// readPage reads a token that was made for so many namespaces.
func readPage(token string, namespaces int) (page, error) {
	p := page{}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && (p.Of != pageOf || p.Namespace < 0 || p.Namespace >= namespaces || p.Version == "") {
		err = errors.New("it is of another list")
	}
	if err != nil {
		return page{}, fmt.Errorf("reading the continue token of a list of several namespaces: %w", err)
	}
	return p, nil
}

// list answers with a page of one namespace, or if no limit is asked for with all of all.
func (n *narrow) list(req *http.Request) (*http.Response, error) {
	query, at := req.URL.Query(), page{}
	if token := query.Get("continue"); token != "" {
		var err error
		if at, err = readPage(token, len(n.namespaces)); err != nil {
			return expired(req, err.Error()), nil
		}
	}
	limited := query.Get("limit") != "" && query.Get("limit") != "0"
	var all *objects
	for {
		resp, err := n.next.RoundTrip(n.into(req, n.namespaces[at.Namespace], at.query(query)))
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		one, err := readObjects(resp)
		if err == nil {
			all, err = all.with(one)
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s in %q: %w", req.URL.Path, n.namespaces[at.Namespace], err)
		}
		more := at.next(&one.meta, len(n.namespaces))
		if !more || limited {
			return n.listed(req, resp, all, at, more)
		}
	}
}

// query asks for the page: the first as the client does, the others of the same version as that.
func (p page) query(client url.Values) url.Values {
	query := maps.Clone(client)
	query.Del("continue")
	if p.Version == "" {
		return query
	}
	query.Del("resourceVersion")
	query.Del("resourceVersionMatch")
	if p.Continue != "" {
		query.Set("continue", p.Continue)
		return query
	}
	query.Set("resourceVersion", p.Version)
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	return query
}

// next goes on behind what was answered, and reports whether there is more.
func (p *page) next(got *metav1.ListMeta, namespaces int) bool {
	if p.Version == "" {
		p.Version = got.ResourceVersion
	}
	if p.Continue = got.Continue; p.Continue != "" {
		return true
	}
	p.Namespace++
	return p.Namespace < namespaces
}

// listed is the answer to the client.
func (n *narrow) listed(req *http.Request, last *http.Response, all *objects, at page, more bool) (*http.Response, error) {
	all.meta.ResourceVersion, all.meta.Continue, all.meta.RemainingItemCount = at.Version, "", nil
	if more {
		all.meta.Continue = at.token()
	} else {
		n.watched.listed(watchKey(req), at.Version)
	}
	body, err := all.encode()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", req.URL.Path, err)
	}
	answer := respond(req, http.StatusOK, last.Header.Get("Content-Type"), body)
	for name, values := range last.Header {
		if name != "Content-Length" && name != "Content-Encoding" {
			answer.Header[name] = values
		}
	}
	return answer, nil
}

// readObjects reads an answer, and closes it.
func readObjects(resp *http.Response) (*objects, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return decodeObjects(resp.Header.Get("Content-Type"), body)
}
