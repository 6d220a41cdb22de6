#!/bin/sh
# What takes too long for every commit. Needs root (users, mounts); results/runs keeps what was found.
# Every part is run whatever the others say; the exit code is 1 when any of them failed.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd) || exit 255
cd "$root" || exit 255
bin=build/release/bin
failed=
part() { # NAME COMMAND…
  name=$1
  shift
  echo "== $name: $*"
  if "$@"; then echo "== $name: passed"; else failed="$failed $name"; echo "== $name: FAILED"; return 1; fi
}

tests() { # PROGRAM FILTER: a filter that finds nothing is a failure too
  "$bin/$1" --gtest_filter="$2" --gtest_list_tests | grep -q '^  ' && "$bin/$1" --gtest_filter="$2" --gtest_brief=1
}

./assay test || failed="$failed test"
export ASSAY_SEEDS=20000 ASSAY_HISTORIES=20000000 ASSAY_KILL_MOMENTS=10
part seeds-20000 tests targets_raft_replica_test '*StormShard*'
part histories tests checkers_test '*AgreesWithBruteForce*'
part versions tests checkers_test '*VersionedBruteForce*:*WatchBruteForce*'
part benches cmake --build build/release --target benches
part mutants python3 harness/e2e/mutants.py . 200000
part kill-matrix tests harness_e2e_test '*KillMatrix*'
part healthy $bin/assay run --time-limit 20s --seeds 1..20 --expect valid
part healthy-long $bin/assay run --time-limit 60s --seeds 1..3 --expect valid
part versioned $bin/assay run --workload cas-versioned --time-limit 20s --seeds 1..10 --expect valid
part canary-local-reads $bin/assay run --set raft.local-reads=true --time-limit 30s --seeds 1..10 --expect invalid
part canary-early-ack $bin/assay run --set raft.early-ack=true --nemesis partition:leader --nemesis-interval 4s --fault-duration 2s --time-limit 30s --seeds 1..10 --expect invalid
part canary-buffered-ack $bin/assay run --set raft.buffered-ack=true --nemesis kill:all --nemesis-interval 3s --fault-duration 1s --time-limit 30s --seeds 1..10 --expect invalid
for switch in stale-reads lost-writes blind-cas; do
  part "memory-$switch" $bin/assay run --target memory --set "memory.$switch=200" --time-limit 20s --seeds 1..10 --expect invalid
done
part swarm $bin/assay run --swarm --seeds 1..20 --expect valid
part power-loss $bin/assay run --nemesis power-loss:minority,power-loss:all --time-limit 20s --seeds 1..20 --expect valid
part canary-unsynced-ack $bin/assay run --set raft.unsynced-ack=true --nemesis power-loss:all --time-limit 20s --seeds 1..10 --expect invalid
ASSAY_KILL_MOMENTS=20 part hosts tests harness_e2e_test '*HostsRun*'
if part lab $bin/assay lab up --name nightly -o "$root/build/nightly-lab.json"; then
  on_lab="--hosts $root/build/nightly-lab.json"
  part hosts-healthy $bin/assay run $on_lab --nemesis partition,pause,kill --time-limit 60s --seeds 1..3 --expect valid
  part hosts-links $bin/assay run $on_lab --nemesis delay,loss,reset,disconnect --time-limit 30s --seeds 1..3 --expect valid
  part hosts-power-loss $bin/assay run $on_lab --nemesis power-loss --time-limit 30s --seeds 1..3 --expect valid
  part hosts-certify $bin/assay certify --target raft --profile quick $on_lab
  part hosts-etcd $bin/assay run $on_lab --target etcd --nodes 3 --nemesis partition,kill --time-limit 30s --seeds 1..5 --expect valid
  part hosts-etcd-serializable $bin/assay run $on_lab --target etcd --nodes 3 --nemesis partition,kill --set etcd.serializable-reads=true --time-limit 30s --seeds 1..5 --expect invalid
fi
$bin/assay lab down --name nightly
part experiments $bin/assay experiment --all
part designs $bin/assay certify --target naive
part release $bin/assay certify --target raft --profile release
part fuzz harness/e2e/fuzz.sh "$root" 600

[ -z "$failed" ] && exit 0
echo "failed:$failed"
exit 1
