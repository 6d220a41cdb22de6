#!/bin/sh
# The unit tests and one short real run under a sanitizer: sanitized.sh asan|tsan [arguments of ctest]
set -u
preset=$1
shift
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 255
build=$root/build/$preset
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
# Random tests do a smaller share here: every operation costs ten times as much.
export ASSAY_SEEDS="${ASSAY_SEEDS:-60}" ASSAY_HISTORIES="${ASSAY_HISTORIES:-20000}"

cd "$root" && cmake --preset "$preset" >/dev/null && cmake --build "$build" --target programs tests || exit 255
ctest --test-dir "$build" --output-on-failure --parallel 2 -LE 'e2e|fuzz|seeded' "$@" || exit 1

out=$(mktemp -d) || exit 255
trap 'rm -rf "$out"' EXIT
"$build/bin/assay" run --nodes 3 --time-limit 30s --nemesis-interval 7s --fault-duration 5s --seed 1 --rate 200 \
  --set raft.election-timeout-ms=1000-2000 --op-timeout 3s --out "$out"
status=$?
if grep -rE 'ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer|runtime error:' "$out" >&2; then
  echo "sanitized.sh: a sanitizer reported something" >&2
  exit 1
fi
exit $status
