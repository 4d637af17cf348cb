package tap

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// maxValue bounds a logged value in bytes: some controllers log whole objects, or a diff of two.
const maxValue = 1024

// values makes logged keys and values text. Of a key that is there twice the last value counts, in the place of the
// first, as klog has it. own makes text of values in a way of its own, or returns "": it may be nil.
func values(own func(any) string, lists ...[]any) trace.Values {
	var out trace.Values
	for _, list := range lists {
		for i := 0; i < len(list); i += 2 {
			v := trace.Value{Key: fmt.Sprint(list[i]), Value: "(MISSING)"}
			if i+1 < len(list) {
				v.Value = ownText(own, list[i+1])
			}
			out = put(out, v)
		}
	}
	return out
}

func ownText(own func(any) string, v any) string {
	if own != nil {
		if text := own(v); text != "" {
			return cut(text)
		}
	}
	return valueText(v)
}

func put(list trace.Values, v trace.Value) trace.Values {
	for i := range list {
		if list[i].Key == v.Key {
			list[i].Value = v.Value
			return list
		}
	}
	return append(list, v)
}

// valueText makes a value text by the rules of klog's text output (internal/serialize/keyvalues.go), without its quotes.
// A whole API object is cut down to its name: upstream logs some at level 4, and to spell out every pod that ReplicaSet
// sees would cost more than all the rest of the trace. A value whose own method panics says so.
func valueText(v any) string { return cut(wholeText(v)) }

// wholeText is valueText of any length.
func wholeText(v any) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("<panic: %v>", p)
		}
	}()
	return formatted(v)
}

func formatted(v any) string {
	switch v := v.(type) {
	case metav1.Object:
		return objectKey(v.GetNamespace(), v.GetName())
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	case error:
		return v.Error()
	case logr.Marshaler:
		return formatted(v.MarshalLog())
	case []byte:
		quoted := fmt.Sprintf("%+q", v)
		return quoted[1 : len(quoted)-1]
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	var s string
	if json.Unmarshal(b, &s) == nil && string(b) != "null" {
		return s
	}
	return string(b)
}

// cut shortens a text to maxValue bytes, at a character's end, and says how much is missing.
func cut(s string) string {
	if len(s) <= maxValue {
		return s
	}
	end := maxValue
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.TrimSpace(s[:end]), len(s)-end)
}
