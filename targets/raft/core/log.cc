#include "targets/raft/core/log.h"

#include <algorithm>

#include "targets/raft/core/check.h"

namespace assay::raft {
namespace {

std::string place(LogIndex index, Term term) {
  return "index " + std::to_string(index.value) + " term " + std::to_string(term.value);
}

}  // namespace

Log::Log(LogIndex before_first, Term before_first_term, std::vector<Entry> entries)
    : before_first_(before_first), before_first_term_(before_first_term), written_(before_first) {
  for (Entry& entry : entries) append(std::move(entry));
  written_ = last_index();
}

Term Log::term_at(LogIndex index) const {
  if (index == before_first_) return before_first_term_;
  return at(index).term;
}

const Entry& Log::at(LogIndex index) const {
  RAFT_CHECK(holds(index), "index " + std::to_string(index.value) + " of a log that ends at " +
                               std::to_string(last_index().value));
  return entries_[index - first_index()];
}

bool Log::matches(LogIndex index, Term term) const {
  return index >= before_first_ && index <= last_index() && term_at(index) == term;
}

LogIndex Log::last_with_term_at_most(LogIndex index, Term term) const {
  index = std::min(index, last_index());
  while (index > before_first_ && term_at(index) > term) index = index - 1;
  return std::max(index, before_first_);
}

void Log::append(Entry entry) {
  RAFT_CHECK(entry.index == last_index() + 1 && entry.term >= last_term(),
             place(entry.index, entry.term) + " after " + place(last_index(), last_term()));
  entries_.push_back(std::move(entry));
}

void Log::truncate(LogIndex from) {
  RAFT_CHECK(from >= first_index(), "cut at index " + std::to_string(from.value));
  if (from > last_index()) return;
  entries_.resize(from - first_index());
  written_ = std::min(written_, last_index());
}

void Log::compact(LogIndex through) {
  if (through <= before_first_) return;
  RAFT_CHECK(through <= written_, "compacted through index " + std::to_string(through.value) +
                                      ", written through " + std::to_string(written_.value));
  const Term term = term_at(through);
  entries_.erase(entries_.begin(),
                 entries_.begin() + static_cast<ptrdiff_t>(through - before_first_));
  before_first_ = through;
  before_first_term_ = term;
}

void Log::reset(LogIndex index, Term term) {
  entries_.clear();
  before_first_ = written_ = index;
  before_first_term_ = term;
}

std::vector<Entry> Log::slice(LogIndex from, LogIndex through, size_t bytes_max,
                              size_t entries_max) const {
  RAFT_CHECK(holds(from) && holds(through) && from <= through, place(from, Term{}));
  const size_t begin = from - first_index();
  const size_t end = begin + std::min<size_t>(through - from + 1, std::max<size_t>(entries_max, 1));
  size_t bytes = entries_[begin].bytes().size();
  size_t stop = begin + 1;
  while (stop < end && (bytes += entries_[stop].bytes().size()) <= bytes_max) ++stop;
  return {entries_.begin() + static_cast<ptrdiff_t>(begin),
          entries_.begin() + static_cast<ptrdiff_t>(stop)};
}

std::vector<Entry> Log::take_unwritten() {
  std::vector<Entry> out(entries_.begin() + static_cast<ptrdiff_t>(written_ - before_first_),
                         entries_.end());
  written_ = last_index();
  return out;
}

}  // namespace assay::raft
