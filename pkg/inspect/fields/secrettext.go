package fields

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"index/suffixarray"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HideSecretValues returns a text, such as the error of a write, with HiddenValue in the place of what it has of the
// values of Secrets: as they are, decoded and in base64, also inside quoted JSON, and longer parts of them. Objects of
// other kinds, and nil, have nothing to hide.
func HideSecretValues(text string, objects ...*unstructured.Unstructured) string {
	var values []string
	for _, obj := range objects {
		if !IsSecret(obj) {
			continue
		}
		values = appendTexts(appendTexts(values, obj.Object["data"]), obj.Object["stringData"])
		var applied map[string]any
		if json.Unmarshal([]byte(obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), &applied) == nil {
			values = appendTexts(appendTexts(values, applied["data"]), applied["stringData"])
		}
	}
	if len(values) == 0 {
		return text
	}
	var forms []string
	for _, value := range values {
		forms = appendForms(forms, value)
	}
	// The longest come first: others may be parts of them.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	forms = slices.Compact(forms)
	for _, form := range forms {
		text = hideForm(text, form)
	}
	return hideParts(text, strings.Join(forms, "\x00"))
}

// appendTexts appends the values in a field of a Secret, of whatever type they are.
func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, entry := range v {
			texts = appendTexts(texts, entry)
		}
	case []any:
		for _, entry := range v {
			texts = appendTexts(texts, entry)
		}
	default:
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// appendForms appends what a text may have in the place of a value.
func appendForms(forms []string, value string) []string {
	plain := []string{value, strings.TrimSpace(value), base64.StdEncoding.EncodeToString([]byte(value))}
	if decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "=")); err == nil {
		plain = append(plain, string(decoded), strings.TrimSpace(string(decoded)))
	}
	for _, form := range plain {
		if form == "" {
			continue
		}
		forms = append(forms, form)
		escaped, err := json.Marshal(form) // which escapes more than Go does, such as < and >
		if err != nil {
			continue // cannot happen
		}
		for _, form := range []string{form, string(escaped[1 : len(escaped)-1])} {
			for range maxQuoting {
				forms = append(forms, form)
				quoted := strconv.Quote(form)
				form = quoted[1 : len(quoted)-1]
			}
		}
	}
	return forms
}

const (
	// maxQuoting is how often a value may be quoted within a quoted text: an annotation within a patch within a
	// message.
	maxQuoting = 5
	// shortForm is up to how many bytes a value is hidden only where it is no part of a word.
	shortForm = 4
	// partSize is of how many bytes a part of a value is hidden: some servers quote a piece of a document.
	partSize = 8
)

// hideForm hides a value in one of its forms.
func hideForm(text, form string) string {
	if len(form) > shortForm {
		return strings.ReplaceAll(text, form, HiddenValue)
	}
	isWord := func(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	var out strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], form)
		if at < 0 {
			return out.String() + text[from:]
		}
		at += from
		end := at + len(form)
		if at > 0 && isWord(text[at-1]) && isWord(form[0]) ||
			end < len(text) && isWord(text[end]) && isWord(form[len(form)-1]) {
			out.WriteString(text[from : at+1])
			from = at + 1
			continue
		}
		out.WriteString(text[from:at] + HiddenValue)
		from = end
	}
}

// hideParts hides each part of a text that is a part of the values.
func hideParts(text, values string) string {
	index := suffixarray.New([]byte(values))
	var out strings.Builder
	for from := 0; from < len(text); {
		length := min(partSize, len(text)-from)
		if length < partSize || index.Lookup([]byte(text[from:from+length]), 1) == nil {
			out.WriteByte(text[from])
			from++
			continue
		}
		for from+length < len(text) && index.Lookup([]byte(text[from:from+length+1]), 1) != nil {
			length++
		}
		out.WriteString(HiddenValue)
		from += length
	}
	return out.String()
}

// quotedPatch begins the text of a patch that could not be applied: applyPatchToObject of
// k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
const quotedPatch = "patch: Invalid value: "

// WithoutPatch returns the message of a refused patch without the patch that it quotes, or the object with it, and what
// is before that.
func WithoutPatch(message string) string {
	_, rest, found := strings.Cut(message, quotedPatch)
	if !found {
		return message
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return message
	}
	return strings.TrimPrefix(strings.TrimPrefix(rest, quoted), ": ")
}
