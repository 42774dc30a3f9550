#!/bin/sh
# One test file: a line of its outcome, and where it failed all that it said of that. With SUBTESTS=1 also a line of each
# of its tests, as they end.
set -u
name=$(basename -- "$1" .test.ts)
said=.tap/$name.tap
seconds=${TAP_TIMEOUT:-240}
began=$(date +%s)

: >"$said"
[ "${SUBTESTS:-0}" = 0 ] || tail -f --pid=$$ "$said" | sed -un "s/^\( \{4\}\)\?\(not ok\|ok\) [0-9]* - \(.* # time=\)/$name: \1\2 - \3/p" &

# tap ends what takes too long and says what did not end; what cannot say that any more is killed.
TAP_TIMEOUT=$seconds timeout --foreground -k 5 "$((seconds + 30))" \
  node_modules/.bin/node --import ./test/strict-match.ts "$1" >"$said" 2>".tap/$name.err" </dev/null
status=$?

took=$(($(date +%s) - began))
passed=$(sed -n 's/^# { total: [0-9]*, pass: \([0-9]*\).*/\1/p' "$said")
# A file that ended well has said how many assertions there were.
if [ "$status" = 0 ] && [ "${passed:-0}" -gt 0 ]; then
  echo "ok - $1 # $passed passed in $took s"
  exit 0
fi
echo "not ok - $1 # exit code $status after $took s"
awk '/^ *not ok /{shown = 40} /^ *ok /{shown = 0} shown-- > 0' "$said"
tail -n 40 ".tap/$name.err"
exit 1
