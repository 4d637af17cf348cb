#!/usr/bin/env bash
# Measures what docs/performance.md claims, in one go, and prints it as a table. Run it on an idle machine, by make
# bench, which passes the program as KUBECTL_RECONCILE.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=${KUBECTL_RECONCILE:?is not set: run make bench}
rounds=${ROUNDS:-9}

now() { date +%s%N; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# command ARGS: milliseconds that a command takes.
command_ms() {
	for _ in $(seq "$rounds"); do
		local start; start=$(now)
		"$bin" "$@" >"$work/out"
		echo $((($(now) - start) / 1000000))
	done | median
}

# Milliseconds from exec to a served API with both controllers' caches filled, and resident KiB at that moment.
ready() {
	for _ in $(seq "$rounds"); do
		local start pid ms
		mkfifo "$work/fifo"
		start=$(now)
		"$bin" sandbox --controller deployment,replicaset >"$work/fifo" 2>"$work/err" &
		pid=$!
		read -r _ <"$work/fifo"
		ms=$((($(now) - start) / 1000000))
		awk -v ms="$ms" '/^VmRSS/ {print ms, $2}' "/proc/$pid/status"
		kill -INT "$pid"
		wait "$pid"
		rm "$work/fifo"
	done >"$work/ready"
}

deployments() {
	for i in $(seq 50); do
		sed "s/web/web-$i/; s/replicas: 3/replicas: 20/; s/app: web/app: web-$i/" examples/web.yaml
		echo ---
	done
}

# thousand FLAGS: seconds from the first request to 1,000 pods of 50 Deployments ready, as the command itself says it.
thousand() {
	for _ in $(seq 3); do
		"$bin" run --sandbox --controller deployment,replicaset --pod-ready-after 0 --nodes 20 "$@" -f "$work/deployments.yaml" |
			sed -nE 's/^ready after ([0-9.]+)s$/\1/p'
	done | median
}

ready
deployments >"$work/deployments.yaml"
echo "| what | measured |"
echo "|---|---|"
echo "| \`version\` | $(command_ms version) ms |"
echo "| \`--help\` | $(command_ms --help) ms |"
echo "| exec to ready, median of $rounds | $(cut -d' ' -f1 "$work/ready" | median) ms |"
echo "| resident when ready | $(($(cut -d' ' -f2 "$work/ready" | median) / 1024)) MiB |"
echo "| 1,000 pods of 50 Deployments to Ready, 20 nodes, \`-q\`, median of 3 | $(thousand -q) s |"
echo "| the same, every reconcile shown | $(thousand) s |"
echo "| the same, with \`--trace-file\` | $(thousand -q --trace-file "$work/trace") s |"
echo "| size of the program | $(($(stat -c %s "$bin") / 1000000)) MB |"
echo
echo "The same 1,000 pods by what becomes of the trace, in one process:"
echo
go test -run '^$' -bench ThousandPods -benchtime 5x ./pkg/runlocal 2>/dev/null | awk '/^Benchmark/ {
	split($1, name, /[\/-]/); if (!base) base = $3
	printf "%s %.2f s (%+.0f %%)\n", name[2], $3 / 1e9, ($3 / base - 1) * 100
}'
