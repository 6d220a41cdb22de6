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

started=$(date +%s)
"$root/cmake/build.sh" "$root" programs tests || exit 255
built=$(date +%s)
[ -z "$budget" ] || echo "build: $(((built - started) / 60)) min $(((built - started) % 60)) s"

# Clusters take a lock of their own; everything else shares the two cores.
ctest --test-dir "$build" --output-on-failure --parallel 2 "$@"
status=$?
[ -z "$budget" ] || echo "tests: $((($(date +%s) - built) / 60)) min $((($(date +%s) - built) % 60)) s (by label above)"
exit $status
