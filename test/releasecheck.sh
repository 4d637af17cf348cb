#!/usr/bin/env bash
# Vets the program for the platforms of a release, and builds a snapshot twice, from two clones in different folders:
# test/releasecheck.sh [TARGET…], all by default. Fails unless both have the same bytes. What is not committed is not in
# them. GORELEASER is how goreleaser is run.
set -euo pipefail
cd "$(dirname "$0")/.."

tags=$(sed -nE 's/^    tags: \[(.*)\]$/\1/p' .goreleaser.yaml)
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -nE 's/^ +- ((linux|darwin|windows)_[a-z0-9]+)$/\1/p' .goreleaser.yaml)
for target in "${targets[@]}"; do
	echo "vetting $target"
	GOOS=${target%_*} GOARCH=${target#*_} CGO_ENABLED=0 go vet -tags "$tags" ./cmd/... ./pkg/...
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for clone in one two/elsewhere; do
	git clone -q . "$work/$clone"
	"$work/$clone/test/release.sh" "$@"
done
diff "$work/one/dist/checksums.txt" "$work/two/elsewhere/dist/checksums.txt" || {
	echo "error: two builds of one commit differ" >&2
	exit 1
}
echo "two builds have the same bytes:"
cat "$work/one/dist/checksums.txt"
