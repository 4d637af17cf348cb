package timeline

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// isEventStream reports whether a stream has Events, the kind of objects by which components report.
func isEventStream(s *replay.Stream) bool {
	return s.Kind == "Event" && (s.Group == "" || s.Group == "events.k8s.io")
}

// eventObject has the fields of Events of both groups that have them: core/v1 and events.k8s.io/v1.
type eventObject struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Note     string `json:"note"`
	Count    int64  `json:"count"`
	OldCount int64  `json:"deprecatedCount"`
	Series   struct {
		Count int64 `json:"count"`
	} `json:"series"`
	Source struct {
		Component string `json:"component"`
	} `json:"source"`
	OldSource struct {
		Component string `json:"component"`
	} `json:"deprecatedSource"`
	ReportingComponent  string    `json:"reportingComponent"`
	ReportingController string    `json:"reportingController"`
	InvolvedObject      regarding `json:"involvedObject"`
	Regarding           regarding `json:"regarding"`
}

type regarding struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// readEvent returns what an Event says, and the object that it is about.
func readEvent(r *replay.Record) (*ReportedEvent, *Object, error) {
	var e eventObject
	if err := json.Unmarshal(r.Object, &e); err != nil {
		return nil, nil, err
	}
	about := Object(e.InvolvedObject)
	if about.Kind == "" {
		about = Object(e.Regarding)
	}
	return &ReportedEvent{
		Name: r.Name, Type: e.Type, Reason: e.Reason, Message: cmp.Or(e.Message, e.Note),
		Count: max(1, e.Count, e.OldCount, e.Series.Count),
		By: cmp.Or(e.ReportingComponent, e.ReportingController, e.Source.Component,
			e.OldSource.Component),
	}, &about, nil
}

// regardingOf returns the object that an Event is about, without decoding the rest.
func regardingOf(raw []byte) Object {
	about := rawjson.ValueAt(raw, "involvedObject")
	if about == nil {
		about = rawjson.ValueAt(raw, "regarding")
	}
	return Object{
		APIVersion: rawjson.TextAt(about, "apiVersion"), Kind: rawjson.TextAt(about, "kind"),
		Namespace: rawjson.TextAt(about, "namespace"), Name: rawjson.TextAt(about, "name"),
		UID: types.UID(rawjson.TextAt(about, "uid")),
	}
}
