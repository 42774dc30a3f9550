#!/bin/sh
# Runs test files, as many at once as there are cores, each by plain Node: tap's own runner loads hooks for mocks and
# coverage, which no test uses, into each file and into every process that it starts.
# What a file says stands in .tap/NAME.tap, what it writes to standard error in .tap/NAME.err.
set -u
cd "$(dirname -- "$0")/.."
rm -rf .tap && mkdir .tap

# Of few files somebody waits for each test: they are looked at, or take long.
[ $# -gt 5 ] || export SUBTESTS=1
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 test/run-file.sh
status=$?

# Said again at the end, since it scrolled away.
awk -f test/summary.awk .tap/*.tap
exit "$status"
