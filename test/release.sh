#!/usr/bin/env bash
# Builds a release into dist/ without publishing, signing or listing its contents: test/release.sh [TARGET…]. A target is
# a line of .goreleaser.yaml, such as linux_amd64; without any, all are built. GORELEASER is how goreleaser is run.
set -euo pipefail
cd "$(dirname "$0")/.."

config=$(mktemp)
trap 'rm -f "$config"' EXIT
if [ $# = 0 ]; then
	cp .goreleaser.yaml "$config"
else
	wanted=$(IFS='|' && printf '%s' "$*")
	sed -n '1,/^    targets:/p' .goreleaser.yaml >"$config"
	grep -E "^ +- ($wanted)\$" .goreleaser.yaml >>"$config" || {
		echo "error: .goreleaser.yaml has none of the targets $*" >&2
		exit 1
	}
	sed '1,/^    targets:/d' .goreleaser.yaml | grep -vE '^ +- (linux|darwin|windows)_' >>"$config"
fi
# Without a remote, goreleaser would not look at the commit, and take the time of the build in place of its time.
if [ -z "$(git remote)" ]; then
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url
	export GIT_CONFIG_VALUE_0=https://github.com/kubectl-reconcile/kubectl-reconcile.git
fi
TAP_TOKEN=none ${GORELEASER:?} release --snapshot --clean --skip=sign,sbom,docker --config "$config"
