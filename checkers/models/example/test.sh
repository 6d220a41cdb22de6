#!/bin/sh
# Installs the built libraries into a scratch folder, builds the example against them alone, and has
# it judge one history that is valid and one that is not.
#   test.sh SOURCE_DIR BUILD_DIR COMPILER FLAGS
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$2" --component checkers --prefix "$scratch/installed" > "$scratch/log"
cp -r "$1/checkers/models/example" "$scratch/example"
cmake -S "$scratch/example" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/installed" \
  -DCMAKE_CXX_COMPILER="$3" -DCMAKE_CXX_FLAGS="${4:-}" >> "$scratch/log"
cmake --build "$scratch/build" >> "$scratch/log" || { cat "$scratch/log"; exit 1; }

judge() {
  code=0
  "$scratch/build/counter" "$scratch/example/$1.jsonl" || code=$?
  [ "$code" = "$2" ] || { echo "$1.jsonl: expected exit code $2, found $code"; exit 1; }
}
judge valid 0
judge invalid 1
