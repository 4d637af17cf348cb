#!/usr/bin/env bash
# Measures what docs/performance.md claims of recordings, in one go, and prints it as a table. Run it on an idle machine,
# by make bench-replay, which passes the program as KUBECTL_RECONCILE. It needs curl, and kubectl.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
running=
trap '[ -z "$running" ] || kill "$running" 2>/dev/null; rm -rf "$work"' EXIT
bin=${KUBECTL_RECONCILE:?is not set: run make bench-replay}

now() { date +%s%N; }
row() { printf '| %s | %s |\n' "$1" "$2"; }
mib() { echo "$(($1 / 1024)) MiB"; }

# value LOG BENCHMARK UNIT: a figure that go test has printed.
value() { awk -v name="$2" -v unit="$3" '$1 ~ "^Benchmark" name "(-|$)" { for (i = 3; i < NF; i++) if ($(i + 1) == unit) print $i }' "$1"; }

# milliseconds COMMAND: how long a command takes.
milliseconds() {
	local start; start=$(now)
	"$@" >"$work/out"
	echo $((($(now) - start) / 1000000))
}

# until_said PATTERN FILE: waits for a line of a program that has been started.
until_said() {
	until grep -q "$1" "$2"; do
		kill -0 "$running" || { cat "$2" >&2; exit 1; }
		sleep 0.05
	done
}

bench() { go test -vet=off -run '^$' "$@" 2>/dev/null; }

bench -bench '^(BenchmarkWrite|BenchmarkHour)$' -benchtime 5x ./pkg/replay -args -hour "$work/hour" >"$work/format"
bench -bench '^BenchmarkEvents$' -benchtime 100000x ./pkg/replay/recorder >"$work/recorder"
bench -bench '^BenchmarkTimeline$' -benchtime 3x ./pkg/replay/timeline >"$work/timeline"

echo "| what | measured |"
echo "|---|---|"
row "a watch event recorded, from the connection to the file" \
	"$(awk '/^BenchmarkEvents/ {printf "%.0f µs", $3 / 1000}' "$work/recorder")"
row "of it written: compared, compressed" "$(value "$work/format" Write µs/event) µs"
row "recording of an hour, a million events" "$(($(stat -c %s "$work/hour") / 1000000)) MB"
row "of the size of what \`kubectl get -w -o json\` prints" "1/$(value "$work/format" Write smaller-than-kubectl)"
row "records read a second" "$(value "$work/format" Hour/read records/s)"
row "a seek in it, with opening the file: on average; at most" \
	"$(awk '/^BenchmarkHour\/seek-/ {printf "%.0f", $3 / 1e6}' "$work/format") ms; $(value "$work/format" Hour/seek ms-worst) ms"
for filter in object namespace kind tree writer field; do
	row "timeline of 100,000 events, by $filter" \
		"$(awk -v name="BenchmarkTimeline/$filter" 'index($1, name) == 1 {printf "%.2f s", $3 / 1e9}' "$work/timeline")"
done

# The recording of the hour, served as fast as that goes, with a client that watches all pods.
"$bin" replay "$work/hour" --serve --speed 10000 --paused --kubeconfig-out "$work/kubeconfig" >"$work/served" 2>&1 &
running=$!
export KUBECONFIG=$work/kubeconfig
until_said '^export ' "$work/served"
server=$(kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
token=$(kubectl config view --raw -o 'jsonpath={.users[0].user.token}')
curl --no-progress-meter --insecure -H "Authorization: Bearer $token" -o "$work/watched" \
	"$server/api/v1/pods?watch=true&resourceVersion=$(kubectl get --raw /api/v1/pods |
		sed -E 's/.*"metadata":\{"resourceVersion":"([0-9]*)".*/\1/')" &
start=$(now)
kubectl create --raw /playback/play -f /dev/null >"$work/out"
until kubectl get --raw /playback | grep -q '"ended": true'; do
	sleep 0.5
done
seconds=$((($(now) - start) / 1000000000))
row "the hour served to a client that watches all pods: events a second" "$((1000000 / seconds))"
row "peak memory then" "$(mib "$(awk '/^VmHWM/ {print $2}' "/proc/$running/status")")"
row "a seek to its middle while it is served" "$(milliseconds kubectl create --raw '/playback/seek?to=%23500000' -f /dev/null) ms"
row "watch events that the client has received" "$(grep -c . "$work/watched")"
kill -INT "$running"
wait "$running" || true

# 1,000 pods of 50 Deployments in the sandbox, as a recorder of all namespaces sees them.
"$bin" sandbox --controller deployment,replicaset --nodes 20 --pod-ready-after 0 --kubeconfig-out "$work/kubeconfig" \
	>"$work/sandbox" 2>&1 &
running=$!
until_said '^export ' "$work/sandbox"
"$bin" record -A -o "$work/rollout" >"$work/recorded" 2>&1 &
recorder=$!
for i in $(seq 50); do
	sed "s/web/web-$i/; s/replicas: 3/replicas: 20/; s/app: web/app: web-$i/" examples/web.yaml
	echo ---
done >"$work/deployments.yaml"
until [ -s "$work/rollout" ]; do sleep 0.05; done
kubectl apply -f "$work/deployments.yaml" >"$work/out"
kubectl rollout status deployment --timeout 2m >"$work/out"
kill -INT "$recorder"
wait "$recorder"
kill -INT "$running"
wait "$running" || true
running=
"$bin" replay "$work/rollout" -o watch >"$work/watch"
row "a rollout of 1,000 pods in the sandbox, recorded; the same events as kubectl prints them" \
	"$(($(stat -c %s "$work/rollout") / 1000)) kB; $(($(stat -c %s "$work/watch") / 1000)) kB"
tail -1 "$work/recorded" >&2
