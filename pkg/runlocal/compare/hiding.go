package compare

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// hiding knows the values that cannot be compared, as the recording has placeholders in their place, or must not be,
// and what no difference shows: values of Secrets, and those that were redacted.
type hiding struct {
	// ignored name the fields that are not compared, redacted those that the recording has placeholders for.
	ignored, redacted []redact.Rule
	// header is that of the recording; redactor is made when it is needed first.
	header   replay.Header
	redactor *redact.Redactor
	streams  map[schema.GroupResource]*replay.Stream
	// learned are the values that stand behind placeholders in the run, as far as they were written in it.
	learned map[string]string
}

func newHiding(header replay.Header, streams []*replay.StreamState) *hiding {
	h := &hiding{
		header: header, streams: map[schema.GroupResource]*replay.Stream{}, learned: map[string]string{},
	}
	h.redacted, _ = redact.RulesOf(header)
	for _, stream := range streams {
		h.streams[stream.GroupResource()] = &stream.Stream
	}
	return h
}

func (h *hiding) stream(resource schema.GroupResource) *replay.Stream {
	if stream := h.streams[resource]; stream != nil {
		return stream
	}
	return &replay.Stream{Group: resource.Group, Resource: resource.Resource}
}

// mask returns what must not be shown of objects of a resource, or of parts of them.
func (h *hiding) mask(resource schema.GroupResource) fields.Mask {
	stream := h.stream(resource)
	return fields.Mask{
		Kind: stream.GVK().GroupKind(), Resource: resource,
		Hides: func(path string) bool { return names(h.redacted, stream, path) },
	}
}

func names(rules []redact.Rule, stream *replay.Stream, path string) bool {
	return slices.ContainsFunc(rules, func(rule redact.Rule) bool { return rule.Names(stream, path) })
}

// redactedValue is a value of the recording with placeholders, and the value of the run that may be behind them.
type redactedValue struct{ recorded, replayed string }

// compare returns what differs between two results of contentOf, and the values of which that is not known, as they
// were redacted. What is ignored is in neither. The redacted values are real: they must not be shown.
func (h *hiding) compare(
	resource schema.GroupResource, recorded, replayed untyped.Map,
) (differ []fields.Change, redacted []redactedValue) {
	mask, stream := h.mask(resource), h.stream(resource)
	err := fields.CompareValues(object(recorded), object(replayed), func(path string, old, updated any) {
		text, isText := old.(string)
		value, both := updated.(string)
		switch {
		case names(h.ignored, stream, path):
		case isText && both && redact.HasPlaceholder(text) && redact.MayBe(text, value):
			redacted = append(redacted, redactedValue{text, value})
		default:
			differ = append(differ, mask.Change(path, old, updated))
		}
	})
	if err != nil { // cannot happen: they are JSON values
		differ = append(differ, mask.Change("", nil, err.Error()))
	}
	return differ, redacted
}

// differences returns what differs between two results of contentOf, without what is not compared.
func (h *hiding) differences(resource schema.GroupResource, recorded, replayed untyped.Map) []fields.Change {
	differ, _ := h.compare(resource, recorded, replayed)
	return differ
}

// areAlike reports whether two results of contentOf are the same, as far as they are compared.
func (h *hiding) areAlike(resource schema.GroupResource, recorded, replayed untyped.Map) bool {
	text := contentText(recorded)
	if text == contentText(replayed) {
		return true
	}
	if !redact.HasPlaceholder(text) && !slices.ContainsFunc(h.ignored, func(rule redact.Rule) bool {
		return rule.Matches(h.stream(resource))
	}) {
		return false
	}
	differ, _ := h.compare(resource, recorded, replayed)
	return len(differ) == 0
}

// learn takes from a write, which was recorded with placeholders, what stands behind them, and returns how many values
// could not be compared.
func (h *hiding) learn(resource schema.GroupResource, recorded, replayed untyped.Map) int {
	_, redacted := h.compare(resource, recorded, replayed)
	for _, one := range redacted {
		if redact.IsPlaceholder(one.recorded) {
			h.learned[one.recorded] = one.replayed
		}
	}
	return len(redacted)
}

// reveal returns an object of the recording with the values that are known in the place of placeholders: a controller
// sees what it has written.
func (h *hiding) reveal(object []byte) []byte {
	for placeholder, value := range h.learned {
		if bytes.Contains(object, []byte(placeholder)) {
			object = bytes.ReplaceAll(object, inText(placeholder), inText(value))
		}
	}
	return object
}

// inText returns a text as it is in a text of JSON.
func inText(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return []byte(text) // cannot happen
	}
	return quoted[1 : len(quoted)-1]
}

// errUnknownPattern is why what a program writes cannot be put into a recording.
var errUnknownPattern = errors.New("the recording was redacted by a pattern, which it does not contain")

// redact returns an object of the run as a recording that is redacted may have it.
func (h *hiding) redact(resource schema.GroupResource, object []byte) ([]byte, error) {
	if !h.header.Redacted {
		return object, nil
	}
	if h.redactor == nil {
		rules, all := redact.RulesOf(h.header)
		if !all {
			return nil, errUnknownPattern
		}
		var err error
		if h.redactor, err = redact.New(rand.Reader, rules); err != nil {
			return nil, err
		}
	}
	out, err := h.redactor.Redact(h.stream(resource), object)
	if err != nil {
		return nil, fmt.Errorf("redacting what was written: %w", err)
	}
	return h.known(resource, object, out)
}

// known returns a redacted object with the recording's placeholders for the values that it has, and learns the others.
func (h *hiding) known(resource schema.GroupResource, object, redacted []byte) ([]byte, error) {
	before, err := parse(redacted)
	if err != nil {
		return nil, err
	}
	after, err := parse(object)
	if err != nil {
		return nil, err
	}
	recorded := map[string]string{}
	for placeholder, value := range h.learned {
		recorded[value] = placeholder
	}
	_, values := h.compare(resource, before, after)
	for _, one := range values {
		if !redact.IsPlaceholder(one.recorded) {
			continue
		}
		if other := recorded[one.replayed]; other != "" {
			redacted = bytes.ReplaceAll(redacted, []byte(one.recorded), []byte(other))
			continue
		}
		h.learned[one.recorded] = one.replayed
	}
	return redacted, nil
}

// shows reports whether an effect is what a write does to an object.
func (e *event) shows(content untyped.Map) bool {
	return e.hiding.areAlike(e.stream.GroupResource(), e.content, content)
}

func resourceOf(o *trace.Object) schema.GroupResource {
	return schema.GroupResource{Group: o.Group, Resource: o.Resource}
}
