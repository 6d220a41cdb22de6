// Copy: one node's own copy of the store, with revisions of its own, and a hash over the changes
// that it has applied. Copies that apply the same changes in the same order are equal, revisions
// included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/kv/service/bytes.h"
#include "targets/kv/service/service.h"

namespace assay::naive {

// What one request did to the store; no value: the key was deleted.
struct Change {
  std::vector<std::pair<std::string, std::optional<std::string>>> keys;
  bool empty() const { return keys.empty(); }
};
void encode(const Change& change, kv::ByteWriter& writer);
Change decode_change(kv::ByteReader& reader);  // a reader that fails says so itself

class Copy {
 public:
  explicit Copy(kv::ServicePolicy policy = {}) : service_(policy) {}

  // Any request. `made` is what it changed. The tag is hashed with the change.
  kv::Result perform(kv::Request request, Change& made, uint64_t tag = 0);
  // What another copy's request did. Guards were that copy's affair.
  void apply(const Change& change, uint64_t tag = 0);
  kv::Result query(const kv::Request& request) const { return service_.query(request); }

  uint64_t applied() const { return first_ + chains_.size() - 1; }
  uint64_t chain() const { return chains_.back(); }
  std::optional<uint64_t> chain_at(uint64_t applied) const;
  // It counts from there on, whatever it has applied.
  void count_from(uint64_t applied, uint64_t chain);

  const kv::Service& service() const { return service_; }

 private:
  void extend(const Change& change, uint64_t tag);

  kv::Service service_;
  uint64_t first_ = 0;  // what chains_[0] is the hash after
  std::vector<uint64_t> chains_ = {0};
};

}  // namespace assay::naive
