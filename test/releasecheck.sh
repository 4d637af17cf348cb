#!/usr/bin/env bash
# Vets the program for all platforms of a release, and builds a snapshot twice, from two clones in different folders:
# test/releasecheck.sh GORELEASER. Fails unless both have the same bytes. What is not committed is not in them.
set -euo pipefail
cd "$(dirname "$0")/.."

tags=$(sed -nE 's/^    tags: \[(.*)\]$/\1/p' .goreleaser.yaml)
sed -nE 's/^ +- ((linux|darwin|windows)_[a-z0-9]+)$/\1/p' .goreleaser.yaml | while read -r target; do
	echo "vetting $target"
	GOOS=${target%_*} GOARCH=${target#*_} CGO_ENABLED=0 go vet -tags "$tags" ./cmd/... ./pkg/...
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for clone in one two/elsewhere; do
	git clone -q . "$work/$clone"
	GORELEASER=$1 "$work/$clone/test/release.sh"
done
diff "$work/one/dist/checksums.txt" "$work/two/elsewhere/dist/checksums.txt" || {
	echo "error: two builds of one commit differ" >&2
	exit 1
}
echo "two builds have the same bytes:"
cat "$work/one/dist/checksums.txt"
