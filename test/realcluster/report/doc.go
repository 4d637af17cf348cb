// Package report is what the differential suites have found: they write it to a folder, and it is read from there to be
// shown as a table and as the page docs/fidelity.md. It compares nothing by itself.
package report
