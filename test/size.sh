#!/usr/bin/env bash
# Fails if the linker had to keep methods that are not called, or if the program is larger than it may be. `make size`
# runs it with the flags of a release.
#
# The linker leaves out an exported method that is not called by name or by an interface. It has to keep those of all
# types as soon as one reachable function looks methods up by a name or an index that is no constant, as text/template
# and callers of reflect.Type.Method do: that costs 27 MB. -dumpdep prints what each symbol was reached from, and marks
# such a function. The other large thing is generic code: slices.SortFunc makes 15 kB for each struct type that is sorted,
# sort.Slice nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

most=110000000 # bytes; 0.1 MB are folders of source files, which a build with -trimpath leaves out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086 # flags are words
if ! CGO_ENABLED=0 go build -tags "$TAGS" $GCFLAGS -ldflags "$LDFLAGS -dumpdep" -o "$work/program" \
	./cmd/kubectl-reconcile >"$work/reached" 2>&1; then
	grep -v ' -> ' "$work/reached"
	exit 1
fi

# The first marked function is the cause: others may have been reached only because of it.
awk -F ' -> ' '
function name(symbol) { gsub(/ <[A-Za-z]+>/, "", symbol); return symbol }
NF > 1 {
	child = substr($0, length($1) + 5)
	if (!(name(child) in from)) from[name(child)] = name($1)
	if (child ~ /<ReflectMethod>/) { first = name(child); exit }
}
END {
	if (first == "") exit
	print "unused methods are kept, because of the last of these, which looks methods up while the program runs:"
	for (s = first; s != "" && n < 100; s = from[s]) chain[n++] = s
	while (n > 0) print "  " chain[--n]
	exit 1
}' "$work/reached" && kept=0 || kept=1

bytes=$(wc -c <"$work/program")
awk -v bytes="$bytes" -v most="$most" 'BEGIN { printf "the program has %.1f MB, of at most %.1f MB\n", bytes / 1e6, most / 1e6 }'
exit $((kept || bytes > most))
