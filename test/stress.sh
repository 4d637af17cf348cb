#!/usr/bin/env bash
# Runs the tests on a slow machine: test/stress.sh [TARGET...] makes the targets, by default all that test, while every
# core is kept busy by another process and the servers that scripts start answer late. It does so three times, continues
# after a failure, and prints at the end what failed.
#
#   ROUNDS  how many times, by default 3
#   DELAY   how late servers answer, by default 200ms; 0 for at once
#   BUSY    how many processes keep cores busy, by default as many as there are cores
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-3}
delay=${DELAY:-200ms}
busy=${BUSY:-$(getconf _NPROCESSORS_ONLN)}
targets=("$@")
[ $# -gt 0 ] || targets=(race test-programs test-clients test-docs test-real)

logs=$(mktemp -d)
spinning=()
trap '[ ${#spinning[@]} -eq 0 ] || kill "${spinning[@]}"; rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
for _ in $(seq "$busy"); do
	while :; do :; done &
	spinning+=($!)
done

failed=()
for round in $(seq "$rounds"); do
	for target in "${targets[@]}"; do
		printf '\n== round %s: make %s (%ss so far)\n' "$round" "$target" "$SECONDS"
		log="$logs/$round-$target"
		if ! TEST_ANSWER_DELAY=$delay make "$target" TESTFLAGS='-count=1 -timeout=60m' >"$log" 2>&1; then
			echo failed
			failed+=("round $round: make $target" "$log")
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
