#!/usr/bin/env bash
# Draws the pictures of the documentation from real runs, by make pictures, which passes the program as
# KUBECTL_RECONCILE. It needs script(1), for a terminal.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=${KUBECTL_RECONCILE:?is not set: run make pictures}
ln -s "$bin" "$work/kubectl-reconcile"
PATH=$work:$PATH
images=$PWD/docs/images
mkdir -p "$images"
go build -o "$work/picture" ./test/picture

# shot NAME LAST COMMAND [FLAGS OF picture]: runs a command as the user types it, on a terminal of 118 columns, and draws
# what it prints until a line that matches LAST.
shot() {
	local name=$1 last=$2 command=$3
	shift 3
	(
		cd "$work"
		script -qefc "stty cols 118 rows 60; TERM=xterm-256color ${command/kubectl reconcile/kubectl-reconcile}" /dev/null \
			</dev/null || true # why ends with 1 if it finds a cause
	) | sed "/$last/q" >"$work/printed"
	"$work/picture" -title "$command" "$@" <"$work/printed" >"$work/svg"
	mv "$work/svg" "$images/$name.svg"
}

cp -r examples "$work"
shot run '^ready after' "kubectl reconcile run --sandbox --controller deployment,replicaset -f examples/web.yaml" -head 24 -tail 1

# A rollout that does not go on: the new pods crash.
sed -i 's/^        app: web$/&\n      annotations: {kubectl-reconcile.github.io\/simulate: crash-loop}/' "$work/examples/web.yaml"
"$bin" run --sandbox --controller '*' -q --record "$work/shop.rec" -f "$work/examples/web.yaml" --until 8s >"$work/log" 2>&1 ||
	{ cat "$work/log" >&2; exit 1; }
shot why 'nothing' "kubectl reconcile why deploy/web --from shop.rec"
shot tree 'nothing' "kubectl reconcile tree deploy/web --from shop.rec"
