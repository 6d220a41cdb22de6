// The binary form of a whole store, made and read in slices, so that neither takes long at once.
// One state has one form, which all members give it: what decodes encodes to the same bytes.
//
// A sequence of items, each with its length (u32) before it: the head (revision, compacted
// revision, how many versions were kept, how many events follow), the versions kept from before the
// compaction, by key, and the events since, in order. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "targets/kv/service/store.h"

namespace assay::kv {

class StoreEncoder {
 public:
  // Of the store as it is now. It may change meanwhile: its versions are shared.
  explicit StoreEncoder(const Store& store) : frozen_(store.freeze()) {}

  // Appends items, until at least `bytes` were added or all are.
  void encode(std::string& out, size_t bytes);
  bool done() const { return head_done_ && next_ == frozen_.kept.size() + frozen_.events.size(); }

 private:
  Store::Frozen frozen_;
  bool head_done_ = false;
  size_t next_ = 0;
};

class StoreDecoder {
 public:
  // Takes the whole items at the front; how many bytes they were. What is left is a part of an
  // item, or lies behind the last, or is wrong.
  size_t take(std::string_view bytes);
  bool failed() const { return failed_; }
  bool done() const { return !failed_ && head_seen_ && kept_left_ == 0 && events_left_ == 0; }

  // What was read so far.
  Store release() { return std::move(store_); }

 private:
  bool take_item(std::string_view item);
  bool take_head(std::string_view item);

  Store store_;
  bool failed_ = false;
  bool head_seen_ = false;
  uint64_t kept_left_ = 0;
  uint64_t events_left_ = 0;
};

}  // namespace assay::kv
