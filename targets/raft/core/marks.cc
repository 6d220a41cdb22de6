#include "targets/raft/core/marks.h"

namespace assay::raft {

std::string_view to_string(Mark mark) {
  switch (mark) {
    case Mark::kElectionWon:
      return "election won";
    case Mark::kElectionLost:
      return "election lost";
    case Mark::kPreVoteRefused:
      return "pre-vote refused";
    case Mark::kVoteRefused:
      return "vote refused";
    case Mark::kVoteIgnoredWithLeader:
      return "vote ignored while a leader is heard of";
    case Mark::kQuorumLost:
      return "leader stepped down without quorum";
    case Mark::kStaleLeaderTold:
      return "leader of an older term told the newer";
    case Mark::kConflictHinted:
      return "append refused with a hint";
    case Mark::kConflictSkippedTerm:
      return "hint skipped several entries";
    case Mark::kTailTruncated:
      return "conflicting tail cut";
    case Mark::kStaleAppend:
      return "append below the commit index";
    case Mark::kAppendWindowFull:
      return "append window full";
    case Mark::kReadDeferred:
      return "read deferred until the own term's commit";
    case Mark::kReadsConfirmedTogether:
      return "one round confirmed earlier reads";
    case Mark::kReadsAborted:
      return "reads aborted with leadership";
    case Mark::kProposalRefused:
      return "proposal refused by the limit";
    case Mark::kCommitCounted:
      return "majority of an older term's entry not committed";
    case Mark::kSnapshotWanted:
      return "snapshot wanted by a member";
    case Mark::kSnapshotTimedOut:
      return "snapshot on its way timed out";
    case Mark::kSnapshotOlder:
      return "older snapshot ignored";
    case Mark::kSnapshotKeptLog:
      return "log kept behind an installed snapshot";
    case Mark::kSnapshotResetLog:
      return "log reset by an installed snapshot";
    case Mark::kCount:
      break;
  }
  return "?";
}

}  // namespace assay::raft
