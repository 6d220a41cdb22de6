#include "targets/naive/copy.h"

#include <algorithm>

#include "targets/kv/service/hash.h"
#include "targets/kv/service/validate.h"

namespace assay::naive {

void encode(const Change& change, kv::ByteWriter& writer) {
  writer.varint(change.keys.size());
  for (const auto& [key, value] : change.keys) {
    writer.string(key);
    writer.u8(value ? 1 : 0);
    if (value) writer.string(*value);
  }
}

Change decode_change(kv::ByteReader& reader) {
  Change change;
  for (uint64_t left = reader.count(); left > 0 && reader.ok(); --left) {
    auto& [key, value] = change.keys.emplace_back();
    key = reader.string();
    if (reader.upto(1) == 1) value = reader.string();
  }
  return change;
}

kv::Result Copy::perform(kv::Request request, Change& made, uint64_t tag) {
  const kv::Revision before = service_.revision();
  kv::Result result = service_.apply(std::move(request));
  if (service_.revision() == before) return result;
  for (const kv::KeyValuePtr& kv : service_.store().events(before + 1, SIZE_MAX)) {
    auto& [key, value] = made.keys.emplace_back(kv->key, std::nullopt);
    if (!kv->tombstone()) value = kv->value;
  }
  extend(made, tag);
  return result;
}

void Copy::apply(const Change& change, uint64_t tag) {
  // A change of more keys than a transaction may have comes from a deletion of a range.
  for (size_t begin = 0; begin < change.keys.size(); begin += kv::kTxnOpsMax) {
    kv::TxnRequest txn;
    const size_t end = std::min(change.keys.size(), begin + kv::kTxnOpsMax);
    for (size_t i = begin; i < end; ++i) {
      const auto& [key, value] = change.keys[i];
      if (value) {
        txn.success.push_back({kv::PutRequest{.key = key, .value = *value}});
      } else {
        txn.success.push_back({kv::DeleteRangeRequest{.key = key}});
      }
    }
    service_.apply(std::move(txn));
  }
  extend(change, tag);
}

void Copy::extend(const Change& change, uint64_t tag) {
  std::string bytes;
  kv::ByteWriter writer(bytes);
  encode(change, writer);
  chains_.push_back(kv::Hasher(chain()).add(tag).add(bytes).value());
}

std::optional<uint64_t> Copy::chain_at(uint64_t applied) const {
  if (applied < first_ || applied - first_ >= chains_.size()) return std::nullopt;
  return chains_[applied - first_];
}

void Copy::count_from(uint64_t applied, uint64_t chain) {
  first_ = applied;
  chains_ = {chain};
}

}  // namespace assay::naive
