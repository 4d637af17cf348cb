// Package docs tests what people read of the project: that the links between its pages lead somewhere, that every page
// is linked to, and that what other programs rely on is described.
//
// markdown_test.go reads a page, links_test.go checks where its links lead, and schemas_test.go compares
// docs/schemas.md with the documents that commands print; library_test.go looks for the blocks of docs/library.md in
// examples.
package docs
