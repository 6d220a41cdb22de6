#!/bin/sh
# build.sh ROOT TARGET…: configures where that is due, and builds into ROOT/build/release. One at a
# time: a second one waits. Tells how far it is when it takes long; all else is in build.log. Exit
# code 255 when it fails.
set -u
root=$1
shift
build=$root/build/release
log=$build/build.log

fail() { echo "assay: $1" >&2; exit 255; }

mkdir -p "$build" 2>/dev/null && command exec 9>"$build/.lock" || fail "cannot write to $build"
if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
  echo "assay: another build of $build is under way; waiting for it" >&2
  flock 9
fi
# A folder that was copied or moved builds what it was configured for, elsewhere.
home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null)
if [ -n "$home" ] && ! [ "$home" -ef "$root" ]; then
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" "$build/build.ninja"
fi
if [ ! -f "$build/build.ninja" ] || [ "$root/packages.txt" -nt "$build/build.ninja" ]; then
  echo "assay: building (some minutes, the first time)" >&2
  (cd "$root" && cmake --preset release) >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "configuration failed (see $log)"; }
fi
rm -f "$build/.built"
(cd "$root" && cmake --build "$build" --target "$@" 2>&1 9>&- && touch "$build/.built") | tee "$log" | {
  told=0
  while IFS= read -r line; do
    case $line in '['[0-9]*/[0-9]*']'*) ;; *) continue ;; esac
    step=${line#[}
    step=${step%%]*}
    tenth=$((10 * ${step%/*} / ${step#*/}))
    if [ "${step#*/}" -ge 50 ] && [ $tenth -gt $told ] && [ $tenth -lt 10 ]; then
      told=$tenth
      echo "assay: built ${step%/*} of ${step#*/}" >&2
    fi
  done
}
[ -f "$build/.built" ] && exit 0
grep -m1 -A12 -E 'FAILED|error' "$log" >&2
fail "the build failed (see $log)"
