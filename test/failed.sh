#!/usr/bin/env bash
# Prints what failed, out of the output of tests or linters: test/failed.sh FILE. The servers that tests start log much.
set -euo pipefail
grep -E -A3 '^ *--- FAIL|^FAIL|^ +[a-z0-9_]+_test\.go:[0-9]+: |FAIL: |^panic: |DATA RACE|^[^ ]+\.go:[0-9]+:[0-9]+: |^make: ' "$1" | grep -vE '^[EIW][0-9]{4} ' | tail -n 100
