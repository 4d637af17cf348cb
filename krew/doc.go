// Command krew fills the manifests of the plugin with the checksums of a release, and writes them as an index of krew:
//
//	go run ./krew -checksums dist/checksums.txt -out dist/krew-index
//
// reconcile.yaml and debug-controllers.yaml are templates in the language of krew-release-bot, which reads .krew.yaml,
// a link to one of them. Both install the same program: the index of krew may not accept a name as general as
// reconcile, and the program shows the name that it runs under. Of three names that say what it is, debug-controllers
// is the one that follows krew's naming guide, a verb and what it is done to; run-controllers says what one of its
// commands does, and control-loops says nothing of what is done to them.
//
// An index is a git repository with a folder plugins: `kubectl krew index add NAME URL` takes any.
package main
