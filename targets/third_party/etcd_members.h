// EtcdMembers: what the members of an etcd cluster say of themselves, as status and chain lines.
//
// Role, term, leader and commit are one look at the member's Raft (/debug/vars): its maintenance
// API pairs the leader with the term of the last applied entry, which after an election is still
// the old one. Without /debug/vars there is no term. The applied index is the maintenance API's.
//
// On the Loop's thread. Answers that come after its end are dropped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "targets/target.h"

namespace assay {

struct EtcdMembersOptions {
  bool applied = true;   // false: others write to it too, and members are never seen equal
  size_t strangers = 0;  // once so many members are known, others are named by their id; 0: never
};

class EtcdMembers {
 public:
  explicit EtcdMembers(EtcdMembersOptions options = {});

  // Target::status.
  void status(Loop& loop, const NodeInfo& node, Callback<Value> done);
  // Target::chain with one entry: the hash of the whole store after the applied index. Null where
  // no hash can be had that is certainly of that index. Not for a store that is being compacted:
  // members delete old revisions each at its own pace.
  void hash(Loop& loop, const NodeInfo& node, Callback<Value> done);

  // The same for a store that is being compacted: the hash of the live keys, by the revision.
  void contents(Loop& loop, const NodeInfo& node, Callback<Value> done);

  // --- The pure parts

  // What a member answers; an empty text: nothing.
  struct Answers {
    std::string_view status;  // of /v3/maintenance/status
    std::string_view vars;    // of /debug/vars
  };
  Result<Value> status_of(const std::string& node, const Answers& answers);

 private:
  struct Names;
  EtcdMembersOptions options_;
  std::shared_ptr<Names> names_;
};

// Null unless the hash, asked for between `status` and `vars`, is that of status's applied index.
Value etcd_hash_of(std::string_view status, std::string_view hash, std::string_view vars);
// Of a range over all keys.
Value etcd_contents_of(std::string_view range);

}  // namespace assay
