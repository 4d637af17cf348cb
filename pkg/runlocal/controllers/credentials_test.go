package controllers

import "testing"

// TestCredentialsAreOthers: a row that says what is so anyway hides that it is wrong.
func TestCredentialsAreOthers(t *testing.T) {
	known := map[string]bool{}
	for _, c := range All() {
		known[c.Name] = true
	}
	for name, credentials := range credentialNames() {
		if name == credentials || !known[name] {
			t.Errorf("the row %s: %s is of no use", name, credentials)
		}
	}
}
