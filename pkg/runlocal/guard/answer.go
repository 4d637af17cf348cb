package guard

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage/names"
)

// answer answers a write in the server's place, without sending it. What it has to know of the object as it is, it reads.
func (t *transport) answer(c *call) (*http.Response, error) {
	switch c.info.Verb {
	case "create":
		if c.info.Subresource != "" {
			return t.answerAction(c)
		}
		return t.answerObject(c, http.StatusCreated, created)
	case "update":
		return t.answerObject(c, http.StatusOK, func(metav1.Object) {})
	case "patch":
		return t.answerPatch(c)
	case "delete":
		return t.answerDelete(c)
	case "deletecollection":
		return respondStatus(c.req, metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK}), nil
	}
	return refuse(c.req, http.StatusForbidden, "nothing is known of the verb "+c.info.Verb), nil
}

// answerObject answers with the object in the body.
func (t *transport) answerObject(c *call, code int, change func(metav1.Object)) (*http.Response, error) {
	o, err := decodeObject(c.req.Header.Get("Content-Type"), c.body)
	if err != nil {
		return refuse(c.req, http.StatusBadRequest, err.Error()), nil
	}
	m, err := meta.Accessor(o.object)
	if err != nil {
		return refuse(c.req, http.StatusBadRequest, err.Error()), nil
	}
	if m.GetNamespace() == "" && c.info.Resource != "namespaces" { // whose own name counts as their namespace
		m.SetNamespace(c.info.Namespace)
	}
	change(m)
	body, err := o.encode()
	if err != nil {
		return refuse(c.req, http.StatusBadRequest, err.Error()), nil
	}
	return respond(c.req, code, o.contentType, body), nil
}

// created gives an object what a server gives it. It has no resourceVersion in a dry run there, either.
func created(m metav1.Object) {
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(names.SimpleNameGenerator.GenerateName(m.GetGenerateName()))
	}
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	m.SetGeneration(1)
}

// answerAction answers the creation of a subresource: of a binding or an eviction, for instance. It fails as on a server if
// the object is not there.
func (t *transport) answerAction(c *call) (*http.Response, error) {
	resp, err := t.getObject(c, c.objectURL())
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close()
	return respondStatus(c.req, metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// answerDelete answers with the object as it is, if the preconditions hold.
func (t *transport) answerDelete(c *call) (*http.Response, error) {
	options, err := decodeOptions(c)
	if err != nil {
		return refuse(c.req, http.StatusBadRequest, err.Error()), nil
	}
	at := *c.req.URL
	at.RawQuery = ""
	resp, err := t.getObject(c, &at)
	if err != nil || resp.StatusCode != http.StatusOK || options.Preconditions == nil {
		return resp, err
	}
	body, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	if why := unmet(options.Preconditions, body); why != "" {
		return refuse(c.req, http.StatusConflict, why), nil
	}
	return respond(c.req, http.StatusOK, resp.Header.Get("Content-Type"), body), nil
}

// unmet says which precondition the object, in JSON, does not meet; empty if it meets all.
func unmet(p *metav1.Preconditions, body []byte) string {
	o, err := decodeObject("", body)
	if err != nil {
		return err.Error()
	}
	m, err := meta.Accessor(o.object)
	switch {
	case err != nil:
		return err.Error()
	case p.UID != nil && *p.UID != m.GetUID():
		return fmt.Sprintf("the uid in the precondition (%s) is not that of the object (%s)", *p.UID, m.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion():
		return fmt.Sprintf("the resourceVersion in the precondition (%s) is not that of the object (%s)",
			*p.ResourceVersion, m.GetResourceVersion())
	}
	return ""
}
