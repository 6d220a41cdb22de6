// Log: a copy of the store together with the changes that made it, in their order; what stands in
// it is durable. Its end can be cut off: the copy is then made anew from what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "targets/naive/copy.h"
#include "targets/naive/design.h"
#include "targets/naive/message.h"

namespace assay::naive {

class Log {
 public:
  Log(Env& env, kv::ServicePolicy policy) : env_(env), policy_(policy), copy_(policy) {}

  // True: the request changed something, and that is the newest entry now.
  bool perform(kv::Request request, uint64_t epoch, kv::Result& result);
  // False: the entry's bytes are no change; nothing was done.
  bool append(const LogEntry& entry);
  void cut(uint64_t length);
  // A record that this class has saved; false: it is another's.
  bool restore(std::string_view record);

  uint64_t length() const { return entries_.size(); }
  uint64_t chain() const { return copy_.chain(); }
  const LogEntry& at(uint64_t index) const { return entries_[index - 1]; }  // from 1
  bool has(uint64_t length, uint64_t chain) const { return copy_.chain_at(length) == chain; }
  // Hashes at lengths ever farther back from the end, and at 0.
  Want samples() const;
  // The longest of those lengths at which this log has the same hash.
  uint64_t common_with(const Want& want) const;

  const Copy& copy() const { return copy_; }

 private:
  bool add(const LogEntry& entry);
  void rebuild(uint64_t length);

  Env& env_;
  const kv::ServicePolicy policy_;
  Copy copy_;
  std::vector<LogEntry> entries_;
};

}  // namespace assay::naive
