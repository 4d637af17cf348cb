package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	var out strings.Builder
	w := NewWarnings(&out)
	for _, header := range []struct {
		code int
		text string
	}{
		{warningCode, "v1 Endpoints is deprecated"},
		{warningCode, "v1 Endpoints is deprecated"}, // once is enough
		{199, "of a proxy on the way"},
		{warningCode, ""},
		{warningCode, "a \x1b[31mred\x1b[0m policy"},
	} {
		w.HandleWarningHeader(header.code, "-", header.text)
	}
	want := "warning: v1 Endpoints is deprecated\nwarning: a ^[[31mred^[[0m policy\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
