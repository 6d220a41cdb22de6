// ValueGuards: what a client does whose store gives it no versions (KvTokens::kNone): it remembers,
// per key, the value that it last read or wrote, and guards by that. A value that went away and
// came back looks to it as if nothing had happened.
//
// A list says at which revision it was made, and a watch's changes say theirs: that is evidence for
// who judges the run, and nothing that such a client could send.
//
// Guarded so are: a write or delete with an `intent` and without a token, and a guard of a txn
// whose token is null. Guard 0, "absent", needs no version. Pure; one object per client.
#pragma once

#include <map>

#include "checkers/history/op.h"
#include "checkers/history/vocabulary.h"

namespace assay {

class ValueGuards {
 public:
  // What is sent for the operation: its guards hold values.
  Op translated(const Op& op) const;
  // The operation's completion, from that of the translated one: without any version. Remembers.
  Op completed(const Op& op, const Op& done);

 private:
  void remember(const Op& op, const Op& done);
  void remember_list(Symbol prefix, const Value& items);

  std::map<Symbol, Value> last_;
};

// A guard of a txn, as it is sent: [key, token], or [key, null, value].
inline bool is_value_guard(const Value& guard) { return guard.as_array().size() == 3; }

}  // namespace assay
