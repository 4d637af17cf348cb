#!/usr/bin/env bash
# Installs Chromium, in which a test of test/picture looks at the pictures of the documentation, unless it is there. It
# needs Debian and root; else the test is skipped, which is no error.
set -euo pipefail

if command -v chromium || command -v google-chrome; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "there is no chromium, and it is installed only by root and apt-get: the pictures are not looked at"
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; then
	echo "chromium cannot be installed: the pictures are not looked at"
fi
