package telemetry

import (
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		given, want string
		remote      bool
		broken      bool
		reason      string
	}{
		{"9090", "127.0.0.1:9090", false, false, "a port alone is the own machine's"},
		{":9090", "127.0.0.1:9090", false, false, "with a colon too"},
		{"0", "127.0.0.1:0", false, false, "any port that is free"},
		{"localhost:9090", "localhost:9090", false, false, "by name"},
		{"[::1]:9090", "[::1]:9090", false, false, "IPv6"},
		{"0.0.0.0:9090", "0.0.0.0:9090", true, false, "every interface"},
		{"10.0.0.7:9090", "10.0.0.7:9090", true, false, "one that others reach"},
		{"example.com:443", "example.com:443", true, false, "a name may be that of another machine"},
		{"", "", false, true, "nothing"},
		{"ninety", "", false, true, "no port"},
		{"localhost:99999", "", false, true, "no such port"},
		{"::1", "", false, true, "IPv6 without brackets"},
		{"http://localhost:80", "", false, true, "a URL"},
	} {
		got, remote, err := Address(tt.given)
		if got != tt.want || remote != tt.remote || (err != nil) != tt.broken {
			t.Errorf("Address(%q) = %q, %v, %v: %s", tt.given, got, remote, err, tt.reason)
		}
		if err != nil && !strings.Contains(err.Error(), `"`+tt.given+`"`) {
			t.Errorf("the error does not name %q: %v", tt.given, err)
		}
	}
}
