package apidiff

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// token is a word for a JSON web token that has its claims: whose it is, for whom, bound to what, and for how long. Its
// signature, its number and when it was issued are its own.
func (n *normaliser) token(s string) string {
	_, rest, _ := strings.Cut(s, ".")
	payload, _, _ := strings.Cut(rest, ".")
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return "<token>"
	}
	tree, err := decode(data)
	claims, ok := tree.(map[string]any)
	if err != nil || !ok {
		return "<token>"
	}
	delete(claims, "jti")
	if issued, ok := seconds(claims["iat"]); ok {
		sinceIssued(claims, issued)
	}
	// A uid that no answer has shown yet has no name.
	return "<token " + uidPattern.ReplaceAllString(show(n.apply(claims)), "<uid>") + ">"
}

// sinceIssued replaces the times of claims, also of those in objects, by seconds since the token was issued.
func sinceIssued(claims map[string]any, issued int64) {
	for key, value := range claims {
		if object, ok := value.(map[string]any); ok {
			sinceIssued(object, issued)
		}
		if time, ok := seconds(value); ok {
			claims[key] = time - issued
		}
	}
}

// seconds reads a time of a claim, which is a number of seconds.
func seconds(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := number.Int64()
	return n, err == nil
}
