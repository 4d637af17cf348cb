package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

var (
	secrets    = replay.Stream{Version: "v1", Kind: "Secret", Resource: "secrets", Singular: "secret", Namespaced: true}
	configMaps = replay.Stream{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", ShortNames: []string{"cm"}}
	widgets    = replay.Stream{Group: "example.com", Version: "v1", Kind: "Widget", Resource: "widgets"}
)

// newRedactor returns a Redactor with a key that is the same for all tests.
func newRedactor(t testing.TB, rules ...string) *Redactor {
	t.Helper()
	var parsed []Rule
	for _, text := range rules {
		rule, err := ParseRule(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		parsed = append(parsed, rule)
	}
	r, err := New(bytes.NewReader(make([]byte, keySize)), parsed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// placeholders are what the Redactor of tests writes for the values in these tests.
func placeholders(t testing.TB) *strings.Replacer {
	r := newRedactor(t)
	var pairs []string
	for _, value := range []string{"hunter2", "other", "s3cr3t-1", "[1]"} {
		pairs = append(pairs, "<"+value+">", r.placeholder([]byte(value)), "<<"+value+">>", r.bytesPlaceholder(b64(value)))
	}
	return strings.NewReplacer(pairs...)
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestRedact(t *testing.T) {
	quote := func(text string) string {
		out, err := quoted(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, row := range []struct {
		reason   string
		stream   *replay.Stream
		rules    []string
		in, want string // want has <value> for placeholders, <<value>> for those of bytes
	}{
		{"the values of a Secret, and no other byte", &secrets, nil,
			`{"kind":"Secret", "metadata":{"name":"s","labels":{"data":"kept"}} ,"data":{"a":"` + b64("hunter2") + `" ,"b":""},"type":"Opaque"}` + "\n",
			`{"kind":"Secret", "metadata":{"name":"s","labels":{"data":"kept"}} ,"data":{"a":"<<hunter2>>" ,"b":"` +
				newRedactor(t).bytesPlaceholder("") + `"},"type":"Opaque"}` + "\n"},
		{"the same value as text has the same digits", &secrets, nil,
			`{"stringData":{"a":"hunter2"},"data":{"a":"` + b64("hunter2") + `"}}`,
			`{"stringData":{"a":"<hunter2>"},"data":{"a":"<<hunter2>>"}}`},
		{"no base64, and other types than there may be", &secrets, nil,
			`{"data":{"a":"[1]","b":1,"c":true,"d":null,"e":["other"],"f":{"g":"other"}}}`,
			`{"data":{"a":"<<[1]>>","b":0,"c":false,"d":null,"e":["` + newRedactor(t).bytesPlaceholder("other") + `"],"f":{"g":"` +
				newRedactor(t).bytesPlaceholder("other") + `"}}}`},
		{"data that is no object, and data twice", &secrets, nil,
			`{"data":"hunter2","data":{"a":"` + b64("hunter2") + `"},"d\u0061ta":{"a":"` + b64("other") + `"},"DATA":["` + b64("other") + `"]}`,
			`{"data":"<<hunter2>>","data":{"a":"<<hunter2>>"},"d\u0061ta":{"a":"<<other>>"},"DATA":["<<other>>"]}`},
		{"kubectl's copy of a Secret", &secrets, nil,
			`{"metadata":{"annotations":{"x":"kept","kubectl.kubernetes.io/last-applied-configuration":` +
				quote(`{"kind":"Secret","stringData":{"a":"hunter2"}}`+"\n") + `}}}`,
			`{"metadata":{"annotations":{"x":"kept","kubectl.kubernetes.io/last-applied-configuration":` +
				quote(`{"kind":"Secret","stringData":{"a":"<hunter2>"}}`+"\n") + `}}}`},
		{"a copy that cannot be read, and one of another tool", &secrets, nil,
			`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2","objectset.rio.cattle.io/applied":"hunter2"}}}`,
			`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"<hunter2>","objectset.rio.cattle.io/applied":"<hunter2>"}}}`},
		{"managed fields have no values", &secrets, nil,
			`{"metadata":{"managedFields":[{"fieldsV1":{"f:data":{"f:a":{}}}}]}}`, `{"metadata":{"managedFields":[{"fieldsV1":{"f:data":{"f:a":{}}}}]}}`},
		{"a Secret of another group is none", &replay.Stream{Group: "example.com", Kind: "Secret", Resource: "secrets"}, nil,
			`{"data":{"a":"kept"}}`, `{"data":{"a":"kept"}}`},
		{"a rule for a field", &configMaps, []string{"cm:data.password"},
			`{"data":{"password":"hunter2","user":"kept"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
				quote(`{"data":{"password":"hunter2"}}`) + `}}}`,
			`{"data":{"password":"<hunter2>","user":"kept"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
				quote(`{"data":{"password":"<hunter2>"}}`) + `}}}`},
		{"a rule for bytes", &configMaps, []string{"configmaps:binaryData"},
			`{"binaryData":{"a":"` + b64("hunter2") + `"}}`, `{"binaryData":{"a":"<<hunter2>>"}}`},
		{"a rule for an annotation of all kinds", &widgets, []string{`*:metadata.annotations['example.com/token']`},
			`{"metadata":{"annotations":{"example.com/token":"hunter2","other":"kept"}}}`,
			`{"metadata":{"annotations":{"example.com/token":"<hunter2>","other":"kept"}}}`},
		{"lists are followed, and elements chosen", &widgets, []string{"widgets.example.com:spec.env.value", "widget:spec.args[1]", "*:spec.any[*].x"},
			`{"spec":{"env":[{"name":"kept","value":"hunter2"},{"value":7}],"args":["kept","other"],"any":[{"x":"other"}]}}`,
			`{"spec":{"env":[{"name":"kept","value":"<hunter2>"},{"value":0}],"args":["kept","<other>"],"any":[{"x":"<other>"}]}}`},
		{"a pattern in all texts", &widgets, []string{`/s3cr3t-\d/`},
			`{"spec":{"url":"https://s3cr3t-1@host/","n":[{"x":"s3cr3t-\u0031"}]},"status":{"message":"kept"}}`,
			`{"spec":{"url":"https://<s3cr3t-1>@host/","n":[{"x":"<s3cr3t-1>"}]},"status":{"message":"kept"}}`},
		{"nothing to redact", &widgets, []string{"pods:spec", "pods.example.com:spec"}, `{"spec":{"a":1}}`, `{"spec":{"a":1}}`},
	} {
		got, err := newRedactor(t, row.rules...).Redact(row.stream, []byte(row.in))
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if diff := cmp.Diff(placeholders(t).Replace(row.want), string(got)); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
		if !json.Valid(got) {
			t.Errorf("%s: not JSON any more: %s", row.reason, got)
		}
	}
}

func TestSecretPlaceholderIsBase64(t *testing.T) {
	got := newRedactor(t).bytesPlaceholder(b64("hunter2"))
	text, err := base64.StdEncoding.DecodeString(got)
	if err != nil || !regexp.MustCompile(`^redacted-[0-9a-f]{8}$`).Match(text) {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestOtherKeysHaveOtherPlaceholders(t *testing.T) {
	other, err := New(strings.NewReader(strings.Repeat("k", keySize)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := newRedactor(t).placeholder([]byte("x")), other.placeholder([]byte("x")); a == b {
		t.Errorf("two recordings have the same placeholder %s", a)
	}
	if _, err := New(strings.NewReader("short"), nil); err == nil {
		t.Error("a key that is too short is used")
	}
}

func TestNotRedacted(t *testing.T) {
	for _, row := range []struct {
		reason string
		stream *replay.Stream
		rules  []string
		in     string
	}{
		{"no JSON", &secrets, nil, `{"data":`},
		{"no object", &secrets, nil, `["hunter2"]`},
		{"more than one", &secrets, nil, `{} {}`},
		{"too deep", &secrets, nil, `{"data":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`},
		{"a pattern that matches the name", &widgets, []string{"/customer/"}, `{"metadata":{"name":"customer-1"}}`},
	} {
		in := []byte(row.in)
		if got, err := newRedactor(t, row.rules...).Redact(row.stream, in); err == nil {
			t.Errorf("%s: got %s", row.reason, got)
		}
		if string(in) != row.in {
			t.Errorf("%s: the object was changed", row.reason)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, row := range []struct{ reason, rule, fails string }{
		{"a path as in jsonpath", `deployments.apps:.spec.template.spec.containers[*].env[0].value`, ""},
		{"escaped dots", `*:metadata.annotations.example\.com/x`, ""},
		{"quotes", `*:metadata.annotations["a.b"]`, ""},
		{"a name further down", `pods:spec.containers[*].name`, ""},
		{"no type", `:data`, "neither TYPE:PATH nor"},
		{"no path", `pods`, "neither TYPE:PATH nor"},
		{"an empty path", `pods:`, "the path is empty"},
		{"an empty field", `pods:spec..x`, "a field of the path is empty"},
		{"a dot too much", `pods:spec.`, "ends with a dot"},
		{"an open bracket", `pods:spec[0`, "not closed"},
		{"an open quote", `pods:spec['a]`, "not closed"},
		{"no index", `pods:spec[x]`, "neither a number"},
		{"the name", `pods:metadata.name`, "identifies"},
		{"all metadata", `pods:metadata`, "identifies"},
		{"everything", `pods:*`, "identifies"},
		{"the kind", `pods:kind`, "identifies"},
		{"an open pattern", `/x`, "between two slashes"},
		{"a bad pattern", `/(/`, "not valid"},
		{"a pattern for nothing", `/x*/`, "empty text"},
	} {
		_, err := ParseRule(row.rule)
		if row.fails == "" && err != nil || row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)) {
			t.Errorf("%s: got %v", row.reason, err)
		}
	}
}

// FuzzRedactSecret: whatever a server may send, no value of a Secret is recorded.
func FuzzRedactSecret(f *testing.F) {
	for _, seed := range []string{
		`{"data":{"a":"aHVudGVyMg=="},"stringData":{"b":"x"}}`, `{"data":["a",{"b":"c"}]}`, `{"DATA":{"a":"b"}}`, `{"data":null}`,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"a\":\"b\"}}"}}}`,
		`{"d\u0061ta":{"a":"b"}} `,
	} {
		f.Add([]byte(seed))
	}
	r := newRedactor(f, "*:spec.a[*].b", `/s3cr3t-\d/`)
	placeholder := regexp.MustCompile(`^redacted-[0-9a-f]{8}$`)
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := r.Redact(&secrets, in)
		if !bytes.Equal(before, in) {
			t.Error("the object was changed")
		}
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON any more: %q", out)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(out, &object); err != nil {
			t.Fatalf("no object any more: %v", err)
		}
		for key, value := range object {
			if !strings.EqualFold(key, "data") && !strings.EqualFold(key, "stringData") {
				continue
			}
			var content any
			if err := json.Unmarshal(value, &content); err != nil {
				t.Fatal(err)
			}
			forEachText(content, func(text string) {
				if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && strings.EqualFold(key, "data") {
					text = string(decoded)
				}
				if !placeholder.MatchString(text) {
					t.Errorf("%s still has %q", key, text)
				}
			})
		}
		again, err := r.Redact(&secrets, before)
		if err != nil || !bytes.Equal(out, again) {
			t.Errorf("the second time it is %q, %v", again, err)
		}
	})
}

func forEachText(value any, do func(string)) {
	switch value := value.(type) {
	case string:
		do(value)
	case []any:
		for _, v := range value {
			forEachText(v, do)
		}
	case map[string]any:
		for _, v := range value {
			forEachText(v, do)
		}
	}
}

func BenchmarkRedactSecret(b *testing.B) {
	r := newRedactor(b)
	object := []byte(`{"metadata":{"name":"s","annotations":{"a":"b"},"managedFields":[{"fieldsV1":{"f:data":{}}}]},"data":{"a":"` +
		b64(strings.Repeat("hunter2", 500)) + `"}}`)
	b.SetBytes(int64(len(object)))
	for b.Loop() {
		if _, err := r.Redact(&secrets, object); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMayBe(t *testing.T) {
	for _, tc := range []struct {
		redacted, text string
		want           bool
		reason         string
	}{
		{"redacted-0123abcd", "top", true, "a placeholder may be anything"},
		{"cmVkYWN0ZWQtMDEyM2FiY2Q=", "dG9w", true, "and that of bytes"},
		{"p=redacted-0123abcd;", "p=top;", true, "what is around it is the same"},
		{"p=redacted-0123abcd;", "q=top;", false, "and here is not"},
		{"a\nredacted-0123abcd", "a\nb\nc", true, "a value may have several lines"},
		{"top", "top", true, "there is none"},
		{"top", "other", false, "there is none"},
		{"redacted-0123", "top", false, "it is too short for one"},
	} {
		if got := MayBe(tc.redacted, tc.text); got != tc.want {
			t.Errorf("%q may be %q: %t, want %t: %s", tc.redacted, tc.text, got, tc.want, tc.reason)
		}
	}
}

// TestHasPlaceholder: what a Redactor makes is known as such, and read from the header of a recording.
func TestHasPlaceholder(t *testing.T) {
	r, err := New(strings.NewReader(strings.Repeat("k", keySize)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{r.placeholder([]byte("top")), r.bytesPlaceholder("dG9w")} {
		if !IsPlaceholder(text) || !HasPlaceholder("a "+text) || IsPlaceholder("a "+text) {
			t.Errorf("%q is not known as a placeholder", text)
		}
	}
}

func TestRulesOf(t *testing.T) {
	rules, all := RulesOf(replay.Header{Options: []string{"-A", Option + "configmaps:data.user", Option + "/…/"}})
	if all || len(rules) != 1 || rules[0].String() != "configmaps:data.user" {
		t.Errorf("rules %v, all is %t, want the one with a path", rules, all)
	}
	stream := &replay.Stream{Version: "v1", Kind: "ConfigMap", Resource: "configmaps"}
	for path, want := range map[string]bool{"data.user": true, "data.user.x": true, "data": false, "data.users": false} {
		if rules[0].Names(stream, path) != want {
			t.Errorf("%s names %s, want %t", rules[0].String(), path, want)
		}
	}
}
