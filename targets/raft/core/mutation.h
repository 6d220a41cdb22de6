// Mutations: planted bugs. Each is one small change in a correct store, and proves that the tests
// would find it. A server sets one only where it is told to be wrong (replica.h, Canary).
//
// The numbers are the rows of the list of known Raft bugs from which they were taken: 1
// ktoso/akka-raft#51, 5 NodeDB-Lab/nodedb#161, 13 logcabin/logcabin#44, 14 ktoso/akka-raft#32, 15
// microsoft/CCF#5991, 39 the read without quorum of etcd 0.4 and Consul (Jepsen 2014), 47
// etcd-io/etcd#1763, 49 jgroups-extras/jgroups-raft#301, 51 RedisLabs/redisraft#43, 52
// canonical/raft#184, 53 hashicorp/raft#229.
#pragma once

#include <cstdint>

namespace assay::raft {

enum class Mutation : uint32_t {
  kNone = 0,
  kVoteIgnoresLog = 1u << 0,             // 1: the candidate's last log position is not compared
  kTermAndVoteInMemory = 1u << 1,        // 5: term and vote are not written (replica)
  kCommitOlderTermByCounting = 1u << 2,  // 13: entries of an older term are committed by counting
  kPreviousTermUnchecked = 1u << 3,      // 14: the previous entry is checked by index alone
  kCutMatchingTail = 1u << 4,          // 15: the log is cut after the new entries though they match
  kReadWithoutQuorum = 1u << 5,        // 39: the leader answers reads without asking a quorum
  kReadBeforeOwnTermCommit = 1u << 6,  // 41: reads before an entry of the own term is committed
  kVoteBeforeSync = 1u << 7,           // 6: what waits for the disk is sent at once (replica)
  kReadBeforeApply = 1u << 8,          // 42: a read does not wait for its index (replica)
  kDirectoryNotSynced = 1u << 9,       // 53: a new segment's name is not made durable (replica)
  kForwardAcceptedTwice = 1u << 10,    // 31: a repeated forward is appended again (replica)
  kOldSnapshotInstalled = 1u << 11,    // 47: a snapshot is installed though more is committed here
  kInstallMerges = 1u << 12,           // 49: an install adds to the old state (replica)
  kLogDroppedTooFar = 1u << 13,        // 51: segments go of which the snapshot covers only a part
  kPartSnapshotLoaded = 1u << 14,      // 52: a snapshot has its name before it is whole (replica)
  kSnapshotNotSynced = 1u << 15,       // 53: neither a snapshot nor its name is synced (replica)
};

class Mutations {
 public:
  constexpr Mutations() = default;
  constexpr Mutations(Mutation one) : bits_(static_cast<uint32_t>(one)) {}  // NOLINT: implicit
  constexpr void add(Mutation one) { bits_ |= static_cast<uint32_t>(one); }
  constexpr bool has(Mutation one) const { return (bits_ & static_cast<uint32_t>(one)) != 0; }
  constexpr bool none() const { return bits_ == 0; }

 private:
  uint32_t bits_ = 0;
};

}  // namespace assay::raft
