// Marks: how often rare branches of the protocol were taken. A test that never reached them proves
// nothing about them; a server shows them as counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::raft {

enum class Mark : uint8_t {
  kElectionWon,
  kElectionLost,            // a majority refused a candidate
  kPreVoteRefused,          // this node refused a pre-vote
  kVoteRefused,             // this node refused a vote
  kVoteIgnoredWithLeader,   // a vote request came while a leader was heard of
  kQuorumLost,              // a leader stepped down because a quorum was silent
  kStaleLeaderTold,         // a leader of an older term was told the newer one
  kConflictHinted,          // an append was refused because the previous entry differed
  kConflictSkippedTerm,     // the leader used the hint to skip more than one entry
  kTailTruncated,           // entries in conflict with the leader's were cut
  kStaleAppend,             // an append that lay below the commit index
  kAppendWindowFull,        // an append waited because too many were unanswered
  kReadDeferred,            // a read waited for the first commit of the leader's term
  kReadsConfirmedTogether,  // one round confirmed reads of an earlier one as well
  kReadsAborted,            // reads dropped because leadership was lost
  kProposalRefused,         // too many bytes were uncommitted
  kCommitCounted,           // an older term's majority was not enough to commit
  kSnapshotWanted,          // a member lacked what the log here no longer has
  kSnapshotTimedOut,        // nothing was heard of a snapshot on its way; probed again
  kSnapshotOlder,           // a snapshot that brought nothing new was ignored
  kSnapshotKeptLog,         // a snapshot was installed, and the log behind it kept
  kSnapshotResetLog,        // a snapshot was installed, and the log began anew
  kCount
};

std::string_view to_string(Mark mark);

// A counter per value of an enumeration that ends with kCount.
template <typename Enum>
class Counters {
 public:
  void hit(Enum mark) { ++counts_[static_cast<size_t>(mark)]; }
  uint64_t count(Enum mark) const { return counts_[static_cast<size_t>(mark)]; }
  void add(const Counters& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<uint64_t, static_cast<size_t>(Enum::kCount)> counts_{};
};

using Marks = Counters<Mark>;

}  // namespace assay::raft
