package layout

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeTellsTheFigure compares README.md with the page that the differential suites write.
func TestReadmeTellsTheFigure(t *testing.T) {
	page, err := os.ReadFile("../../docs/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`(?m)^\*\*(.+)\.\*\*`).FindSubmatch(page)
	if figure == nil {
		t.Fatal("docs/fidelity.md has no figure: make fidelity writes it")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), string(figure[1])) {
		t.Errorf("README.md does not say %q, as docs/fidelity.md does", figure[1])
	}
}
