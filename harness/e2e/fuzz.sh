#!/bin/sh
# Builds the fuzzers with clang and runs each for some seconds: fuzz.sh ROOT SECONDS [FUZZER…].
# A crash leaves its input in the build folder and prints how to repeat it.
set -u
root=$1
seconds=$2
shift 2
build=$root/build/fuzz
command -v clang++ >/dev/null 2>&1 || { echo "fuzz.sh: clang++ is missing" >&2; exit 255; }
mkdir -p "$build"
(cd "$root" && cmake --preset fuzz && cmake --build "$build" --target fuzzers) >"$build/build.log" 2>&1 ||
  { tail -n 20 "$build/build.log" >&2; exit 255; }
status=0
for fuzzer in "$build"/bin/*_fuzz; do
  name=$(basename "$fuzzer")
  mkdir -p "$build/corpus/$name"
  seeds=$(find "$root/checkers" -type d -path "*/testdata/$name")
  words=$(find "$root/checkers" -type f -path "*/testdata/$name.dict" -exec printf -- '-dict=%s' {} \;)
  # shellcheck disable=SC2086
  if (cd "$build" && "$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 $words "corpus/$name" $seeds) >"$build/$name.log" 2>&1; then
    grep -E '^Done|^#.*DONE' "$build/$name.log" | tail -n 1 | sed "s/^/$name: /"
  else
    tail -n 30 "$build/$name.log"
    echo "fuzz.sh: $name found something: see $build/$name.log"
    status=1
  fi
done
exit $status
