package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/awalterschulze/gographviz"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
)

// What of trees differs from run to run, beside ages: see treemasked.
var (
	ageRanges = regexp.MustCompile(`\b(\d{1,3}m?)?\d{1,2}s-\d{1,3}(m\d{1,2})?s\b`)
	ago       = regexp.MustCompile(`\b(\d{1,3}m)?\d{1,3}s ago\b`)
	since     = regexp.MustCompile(`\bfor (\d{1,3}m)?\d{1,3}s\b`)
	shortUIDs = regexp.MustCompile(`\(uid [0-9a-f]{8}…\)`)
	uids      = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
)

// treemasked is `treemasked FILE`: it writes what the last program printed on stdout to the file, with all that differs
// from run to run shown as ~.
func treemasked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: treemasked FILE")
	}
	text := ageRanges.ReplaceAllString(ts.ReadFile("stdout"), "0s")
	text = ago.ReplaceAllString(text, "~ ago")
	text = since.ReplaceAllString(maskAges(text), "for ~")
	text = uids.ReplaceAllString(shortUIDs.ReplaceAllString(text, "(uid ~)"), "~")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// graphviz is `graphviz`: what the last program printed on stdout is a graph in the language of Graphviz.
func graphviz(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: graphviz")
	}
	syntax, err := gographviz.ParseString(ts.ReadFile("stdout"))
	ts.Check(err)
	_, err = gographviz.NewAnalysedGraph(syntax)
	ts.Check(err)
}

// document is `document NAME`: what the last program printed on stdout is a document as docs/NAME.schema.json describes
// it.
func document(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: document NAME")
	}
	ts.Check(schematest.Check("../../docs/"+args[0]+".schema.json", strings.NewReader(ts.ReadFile("stdout"))))
}

// treejson is `treejson`: what the last program printed on stdout is a document as docs/tree.schema.json describes it.
func treejson(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: treejson")
	}
	ts.Check(schematest.Check("../../docs/tree.schema.json", strings.NewReader(ts.ReadFile("stdout"))))
}
