#!/usr/bin/env bash
# Runs the tests on a slow machine: test/stress.sh [TARGET...] makes the targets, by default all that test, while every
# core is kept busy by another process, and then while the servers that scripts start answer late. It does so three
# times, continues after a failure, and prints at the end what failed.
#
#   ROUNDS  how many times, by default 3
#   DELAY   how late servers answer, by default 200ms
#   ONLY    load or delay, to do just one of them
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-3}
delay=${DELAY:-200ms}
only=${ONLY:-}
targets=("$@")
[ $# -gt 0 ] || targets=(race test-programs test-clients test-real)

logs=$(mktemp -d)
spinning=()
idle() {
	[ ${#spinning[@]} -eq 0 ] || kill "${spinning[@]}"
	spinning=()
}
trap 'idle; rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

# spin keeps every core busy until idle.
spin() {
	for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
		while :; do :; done &
		spinning+=($!)
	done
}

failed=()
# try makes a target, and keeps what it printed.
try() {
	local name="round $1, $2: make $3" log="$logs/$1-$2-$3"
	printf '\n== %s (%ss so far)\n' "$name" "$SECONDS"
	make "$3" TESTFLAGS='-count=1 -timeout=60m' >"$log" 2>&1 && return
	echo failed
	failed+=("$name" "$log")
}

for round in $(seq "$rounds"); do
	for target in "${targets[@]}"; do
		if [ "$only" != delay ]; then
			spin
			try "$round" load "$target"
			idle
		fi
		if [ "$only" != load ]; then
			TEST_ANSWER_DELAY=$delay try "$round" delay "$target"
		fi
	done
done

[ ${#failed[@]} -gt 0 ] || {
	printf '\nall passed in %ss\n' "$SECONDS"
	exit
}
for ((i = 0; i < ${#failed[@]}; i += 2)); do
	printf '\n== failed: %s\n' "${failed[i]}"
	test/failed.sh "${failed[i + 1]}"
done
exit 1
