package apidiff

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// normal is the body of the last of several answers, normalised after all others.
func normal(t *testing.T, file string, bodies ...string) string {
	t.Helper()
	n := newNormaliser(file, "127.0.0.1:4321")
	var last any
	for i, body := range bodies {
		answer := Answer{"body": parsed(t, body)}
		n.learn(fmt.Sprint("s", i), answer)
		last = n.apply(map[string]any(answer))
	}
	tree, _ := last.(map[string]any)
	return show(tree["body"])
}

// unseen is an identifier that only a token has.
const unseen = "5c1c1b7a-2f64-4f5e-8d7e-1d2f3a4b5c6d"

func TestNormalise(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	hour := time.Now().UTC().Add(time.Hour).Format(time.RFC3339)
	claims := base64.RawURLEncoding.EncodeToString([]byte(
		`{"exp": 4600, "iat": 1000, "jti": "x", "sub": "me", "a": {"warnafter": 1100, "uid": "` + unseen + `"}}`))
	micro := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
	const uid = "0b7d1d1e-6f3c-4a55-9c0e-6d2f6d1f9a10"
	for _, test := range []struct {
		reason, file string
		bodies       []string
		want         string
	}{
		{"an identifier is named after its first appearance", "", []string{`{"uid": "` + uid + `"}`, `{"message": "not ` + uid + `"}`},
			`{"message":"not <uid s0 .body.uid>"}`},
		{"what the file contains is left alone", "uid: " + uid, []string{`{"uid": "` + uid + `"}`}, `{"uid":"` + uid + `"}`},
		{"a version that did not change is the same word", "",
			[]string{`{"uid": "u", "resourceVersion": "7"}`, `{"uid": "u", "resourceVersion": "7"}`},
			`{"resourceVersion":"<version s0 .body>","uid":"u"}`},
		{"one that changed is another", "", []string{`{"uid": "u", "resourceVersion": "7"}`, `{"uid": "u", "resourceVersion": "8"}`},
			`{"resourceVersion":"<version s1 .body>","uid":"u"}`},
		{"the version of a list is any", "", []string{`{"metadata": {"resourceVersion": "9", "continue": "abc"}}`},
			`{"metadata":{"continue":"<continue>","resourceVersion":"<version>"}}`},
		{"a version that is no number is none, nor is 0", "", []string{`{"a": {"resourceVersion": "0"}, "b": {"resourceVersion": "x9"}}`},
			`{"a":{"resourceVersion":"0"},"b":{"resourceVersion":"x9"}}`},
		{"versions in messages", "", []string{`{"message": "too old resource version: 1 (55)"}`},
			`{"message":"too old resource version: <version> (<version>)"}`},
		{"a generated name keeps its prefix", "", []string{`{"generateName": "a-", "name": "a-x1y2z"}`, `{"message": "a-x1y2z is gone"}`},
			`{"message":"a-<name s0> is gone"}`},
		{"times near the present", "", []string{`{"a": "` + now + `", "b": "` + micro + `", "c": "2001-01-01T00:00:00Z"}`},
			`{"a":"<time>","b":"<time with microseconds>","c":"2001-01-01T00:00:00Z"}`},
		{"a time that is to come", "", []string{`{"a": "` + hour + `"}`}, `{"a":"<time in 1h0m0s>"}`},
		{"addresses and ports handed out", "", []string{`{"spec": {"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ports": [{"nodePort": 31000}]}}`,
			`{"name": "10.0.0.7"}`}, `{"name":"<ip s0 .body.spec.clusterIPs[0]>"}`},
		{"a node port", "", []string{`{"ports": [{"nodePort": 31000, "port": 31000}]}`}, `{"ports":[{"nodePort":"<port s0 .body.ports[0]>","port":31000}]}`},
		{"one that the file asked for", "nodePort: 31000", []string{`{"nodePort": 31000}`}, `{"nodePort":31000}`},
		{"a pause that the server draws by lot", "", []string{`[{"retryAfterSeconds": 1}, {"retryAfterSeconds": 3}, {"retryAfterSeconds": 10}]`},
			`[{"retryAfterSeconds":"<1 to 3>"},{"retryAfterSeconds":"<1 to 3>"},{"retryAfterSeconds":10}]`},
		{"ages in tables", "", []string{`{"columnDefinitions": [{"name": "Name"}, {"name": "Age"}], "rows": [{"cells": ["5s", "5s"]}]}`},
			`{"columnDefinitions":[{"name":"Name"},{"name":"Age"}],"rows":[{"cells":["5s","<age>"]}]}`},
		{"a manager that has written in two versions", "", []string{`{"managedFields": [{"manager": "a", "operation": "Update", "apiVersion": "x/v2"}, {"manager": "a", "operation": "Update", "apiVersion": "x/v1"}]}`},
			`{"managedFields":[{"apiVersion":"x/v1","manager":"a","operation":"Update"},{"apiVersion":"x/v2","manager":"a","operation":"Update"}]}`},
		{"ages in a stream of tables", "",
			[]string{`[{"columnDefinitions": [{"name": "Age"}], "rows": [{"cells": ["5s"]}]}, {"columnDefinitions": null, "rows": [{"cells": ["6s"]}]}]`},
			`[{"columnDefinitions":[{"name":"Age"}],"rows":[{"cells":["<age>"]}]},{"columnDefinitions":null,"rows":[{"cells":["<age>"]}]}]`},
		{"managers in an order of their own", "", []string{`{"managedFields": [{"manager": "b", "operation": "Update"}, {"manager": "a", "operation": "Update"}]}`},
			`{"managedFields":[{"manager":"a","operation":"Update"},{"manager":"b","operation":"Update"}]}`},
		{"the server's address", "", []string{`{"a": "https://127.0.0.1:4321/x"}`}, `{"a":"https://<server>/x"}`},
		{"a token without claims", "", []string{`{"token": "eyJhbGciOi.eyJpc3Mi.c2ln"}`}, `{"token":"<token>"}`},
		{"the claims of a token", "", []string{`{"token": "eyJhbGciOi.` + claims + `.c2ln"}`},
			`{"token":"<token {\"a\":{\"uid\":\"<uid>\",\"warnafter\":100},\"exp\":3600,\"iat\":0,\"sub\":\"me\"}>"}`},
		{"the rules of a review in an order of their own", "", []string{`{"incomplete": false, "resourceRules": [{"verbs": ["b"]}, {"verbs": ["a"]}]}`},
			`{"incomplete":false,"resourceRules":[{"verbs":["a"]},{"verbs":["b"]}]}`},
		{"the rules of a policy in theirs", "", []string{`{"resourceRules": [{"verbs": ["b"]}, {"verbs": ["a"]}]}`},
			`{"resourceRules":[{"verbs":["b"]},{"verbs":["a"]}]}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, normal(t, test.file, test.bodies...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
