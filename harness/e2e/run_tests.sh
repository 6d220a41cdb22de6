#!/bin/sh
# The whole test suite: `./assay test [--budget] [arguments of ctest]`. Called by ./assay, which has
# installed what is needed. Prints ctest's own summary last; 255 when the build fails.
set -u
root=$1
shift
build=$root/build/release
budget=
if [ "${1-}" = --budget ]; then
  budget=1
  shift
fi

fail() { echo "assay: $1" >&2; exit 255; }

started=$(date +%s)
mkdir -p "$build" || fail "cannot write to $build"
log=$build/build.log
(cd "$root" && cmake --preset release) >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "configuration failed (see $log)"; }
cmake --build "$build" --target programs tests >"$log" 2>&1 ||
  { grep -m1 -A12 -E 'FAILED|error' "$log" >&2; fail "the build failed (see $log)"; }
built=$(date +%s)
[ -z "$budget" ] || echo "build: $(((built - started) / 60)) min $(((built - started) % 60)) s"

# Clusters take a lock of their own; everything else shares the two cores.
ctest --test-dir "$build" --output-on-failure --parallel 2 "$@"
status=$?
[ -z "$budget" ] || echo "tests: $((($(date +%s) - built) / 60)) min $((($(date +%s) - built) % 60)) s (by label above)"
exit $status
