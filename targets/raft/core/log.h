// Log: the entries in memory, with the term before the first one, so that a snapshot can take the
// front away. Knows what has been handed out for writing and for applying. Not thread-safe.
#pragma once

#include <deque>
#include <vector>

#include "targets/raft/core/message.h"

namespace assay::raft {

class Log {
 public:
  // The entry before the first: (0, 0) in a log that was never compacted. Entries must follow it
  // without a gap, with terms that never decrease; they count as handed out.
  Log(LogIndex before_first, Term before_first_term, std::vector<Entry> entries);

  LogIndex before_first() const { return before_first_; }
  LogIndex first_index() const { return before_first_ + 1; }
  LogIndex last_index() const { return before_first_ + entries_.size(); }
  Term last_term() const { return term_at(last_index()); }
  bool holds(LogIndex index) const { return index >= first_index() && index <= last_index(); }
  // Of any index in [first_index - 1, last_index].
  Term term_at(LogIndex index) const;
  const Entry& at(LogIndex index) const;
  bool matches(LogIndex index, Term term) const;
  // The last index at or below `index` whose term is at most `term`; never below first_index - 1.
  LogIndex last_with_term_at_most(LogIndex index, Term term) const;

  void append(Entry entry);
  // Removes the entries from `from` on.
  void truncate(LogIndex from);
  // Removes the entries up to `through`, which were handed out for writing.
  void compact(LogIndex through);
  // Removes all entries: the log goes on after (index, term), which a snapshot ends with.
  void reset(LogIndex index, Term term);

  // Entries in [from, through], stopping before one that would exceed either limit; at least one.
  std::vector<Entry> slice(LogIndex from, LogIndex through, size_t bytes_max,
                           size_t entries_max) const;

  // The entries not yet handed out for writing; afterwards they count as handed out.
  std::vector<Entry> take_unwritten();
  bool has_unwritten() const { return written_ < last_index(); }

 private:
  LogIndex before_first_;
  Term before_first_term_;
  std::deque<Entry> entries_;
  LogIndex written_;  // last index handed out for writing
};

}  // namespace assay::raft
