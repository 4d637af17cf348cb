package imports

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// untraced are resources whose writes a comparison does not need, and of which logs are full.
var untraced = []string{"events", "leases"}

// traced returns the request of an entry, which its change and its answer were made of, as an event of a trace; nil if
// it is not needed. The controller is that of kube-controller-manager, by the name of its credentials; empty if
// somebody else sent the request.
func (e *auditEvent) traced(c *change, answer *envelope) *trace.Event {
	ref := e.ObjectRef
	if slices.Contains(untraced, ref.Resource) {
		return nil
	}
	request := &trace.Request{
		Verb: e.Verb, Subresource: ref.Subresource, User: c.writer,
		Object: trace.Object{
			Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource, Namespace: ref.Namespace,
			Name: ref.Name, UID: ref.UID,
		},
		Code: e.ResponseStatus.Code, Reason: e.ResponseStatus.Reason, Message: e.ResponseStatus.Message,
		ResourceVersion: c.version,
	}
	if took := e.StageTimestamp.Sub(e.RequestReceivedTimestamp); took > 0 && !e.RequestReceivedTimestamp.IsZero() {
		request.Latency = trace.Duration(took)
	}
	switch {
	case answer.Kind == "Status" || answer.Kind == "": // it has the uid of what was deleted
		request.UID = cmp.Or(request.UID, e.ResponseStatus.Details.UID, deletedUID(e.ResponseObject))
	case e.Verb != "deletecollection":
		request.Name = cmp.Or(request.Name, answer.Metadata.Name)
		request.UID = cmp.Or(request.UID, answer.Metadata.UID)
	}
	if ref.Resource == "namespaces" && ref.APIGroup == "" {
		request.Namespace = "" // a namespace is said to be in itself
	}
	if ref.Resource == "secrets" && ref.APIGroup == "" {
		request.Message = "" // it may quote values
	}
	e.readRequest(request)
	return &trace.Event{Time: c.time, Controller: e.controller(c.writer), Detail: request}
}

// record returns the request of a change as a record of a trace.
func (c *change) record() (*replay.Record, error) {
	line, err := c.request.MarshalJSON()
	return &replay.Record{Type: replay.TypeTrace, Time: c.time, Object: line}, err
}

// controller returns the name of the credentials of the controller of kube-controller-manager that sent a request;
// empty if none did, or if that is not known. The user agent ends with it, or with the service account of that name:
// see AddUserAgent in k8s.io/client-go/rest and NewClient of cmd/kube-controller-manager. Others use these accounts,
// too: cloud-controller-manager, and people for kubectl --as.
func (e *auditEvent) controller(user string) string {
	program, _, _ := strings.Cut(e.UserAgent, "/")
	last := e.UserAgent[strings.LastIndex(e.UserAgent, "/")+1:]
	name, isAccount := strings.CutPrefix(last, "system:serviceaccount:kube-system:")
	if program == "kube-controller-manager" || isAccount && last == user && program != "cloud-controller-manager" {
		return name
	}
	return ""
}

// deletedUID returns the uid of the object that the answer to its deletion is about; empty if the answer has none.
func deletedUID(answer []byte) string {
	var status struct {
		Details struct {
			UID string `json:"uid"`
		} `json:"details"`
	}
	if utiljson.Unmarshal(answer, &status) != nil {
		return ""
	}
	return status.Details.UID
}

// readRequest sets what only the object in the request has.
func (e *auditEvent) readRequest(request *trace.Request) {
	var sent struct {
		Metadata struct {
			GenerateName    string                  `json:"generateName"`
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if len(e.RequestObject) == 0 || utiljson.Unmarshal(e.RequestObject, &sent) != nil {
		return
	}
	if request.Name == "" {
		request.GenerateName = sent.Metadata.GenerateName
	}
	for _, owner := range sent.Metadata.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			request.Owner = owner.Name
		}
	}
}
