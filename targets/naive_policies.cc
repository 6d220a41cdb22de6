#include "targets/naive_policies.h"

#include "targets/raft_target.h"

namespace assay {
namespace {

std::vector<RaftPolicy> policies() {
  return {
      {.name = "naive-last-writer-wins",
       .summary = "one agreed history, and no write is refused for having seen an older one",
       .flags = {"--unsafe-canary-ignored-guards"}},
      {.name = "naive-lock-without-timeout",
       .summary = "the bundled store; writers hold a lock that never expires",
       .workload = "lock-without-timeout"},
      {.name = "naive-lock-with-timeout",
       .summary = "the bundled store; writers hold a lock that expires by the contender's clock",
       .workload = "lock-with-timeout"},
      {.name = "naive-local-reads",
       .summary = "writes are agreed upon, and any node answers reads from what it has",
       .flags = {"--unsafe-canary-local-reads"}},
      {.name = "naive-unversioned",
       .summary = "answers carry no version: a writer can only compare the value that it read, and a "
                  "watch can only begin from now",
       .flags = {"--unsafe-canary-watch-from-now"},
       .client = {.tokens = KvTokens::kNone},
       .orderable = false},
      {.name = "naive-content-hash",
       .summary = "a key's version is the hash of its value: what comes back looks unchanged",
       .flags = {"--unsafe-canary-token=content-hash"},
       .client = {.tokens = KvTokens::kReadBack},
       .orderable = false},
      {.name = "naive-counter-restarts",
       .summary = "a key's version counts its changes, from 1 again when it is made anew",
       .flags = {"--unsafe-canary-token=key-counter"},
       .client = {.tokens = KvTokens::kReadBack}},
      {.name = "naive-wall-clock-token",
       .summary = "a key's version is the time at which a node took the change, by its own clock",
       .flags = {"--unsafe-canary-token=wall-clock"},
       .client = {.tokens = KvTokens::kReadBack},
       .clock_offset_ms_max = 200},
      {.name = "naive-buffered-ack",
       .summary = "a write is answered while it is in the process's own buffer",
       .flags = {"--unsafe-canary-buffered-ack"}},
      {.name = "naive-unsynced-ack",
       .summary = "a write is answered once it is written, before it is synced",
       .flags = {"--unsafe-canary-unsynced-ack"}},
      {.name = "naive-forgotten-vote",
       .summary = "a node that is started again has forgotten its term and its vote",
       .flags = {"--unsafe-canary-forgotten-vote"}},
      {.name = "naive-watch-from-now",
       .summary = "a watch that is resumed goes on from now, not from where it was cut",
       .flags = {"--unsafe-canary-watch-from-now"}},
      {.name = "naive-resending-client",
       .summary = "the client sends a request again whose outcome it does not know",
       .client = {.resends = true}},
      {.name = "naive-unchecked-leader-reads",
       .summary = "a leader answers reads without asking whether it still leads",
       .flags = {"--unsafe-canary-unchecked-leader-reads"}},
  };
}

}  // namespace

std::vector<TargetInfo> naive_policies() {
  std::vector<TargetInfo> targets;
  for (RaftPolicy& policy : policies()) targets.push_back(raft_target_as(std::move(policy)));
  return targets;
}

}  // namespace assay
