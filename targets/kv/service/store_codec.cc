#include "targets/kv/service/store_codec.h"

#include <limits>
#include <utility>

#include "targets/kv/service/bytes.h"

namespace assay::kv {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr uint32_t kItemBytesMax = 64 << 20;  // far above any request

// Appends an item; `body` writes it.
template <typename Body>
void put_item(std::string& out, const Body& body) {
  const size_t start = out.size();
  ByteWriter writer(out);
  writer.u32(0);
  body(writer);
  const size_t length = out.size() - start - kLengthBytes;
  for (size_t i = 0; i < kLengthBytes; ++i) out[start + i] = static_cast<char>(length >> (8 * i));
}

void put_number(ByteWriter& writer, int64_t value) { writer.varint(static_cast<uint64_t>(value)); }

int64_t read_number(ByteReader& reader) {
  const uint64_t value = reader.varint();
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) reader.fail();
  return reader.ok() ? static_cast<int64_t>(value) : 0;
}

void put_version(std::string& out, const KeyValue& kv) {
  put_item(out, [&](ByteWriter& writer) {
    writer.string(kv.key);
    put_number(writer, kv.mod_revision.value);
    put_number(writer, kv.version);
    if (kv.tombstone()) return;
    put_number(writer, kv.create_revision.value);
    put_number(writer, kv.token);
    writer.raw(kv.value);
  });
}

// Null: not a version.
KeyValuePtr read_version(std::string_view item) {
  ByteReader reader(item);
  auto kv = std::make_shared<KeyValue>();
  kv->key = reader.string();
  kv->mod_revision.value = read_number(reader);
  kv->version = read_number(reader);
  if (kv->tombstone()) return reader.done() ? kv : nullptr;
  kv->create_revision.value = read_number(reader);
  kv->token = read_number(reader);
  if (!reader.ok()) return nullptr;
  kv->value = reader.rest();
  return kv;
}

}  // namespace

void StoreEncoder::encode(std::string& out, size_t bytes) {
  const size_t enough = out.size() + bytes;
  if (!head_done_) {
    head_done_ = true;
    put_item(out, [&](ByteWriter& writer) {
      put_number(writer, frozen_.revision.value);
      put_number(writer, frozen_.compacted.value);
      writer.varint(frozen_.kept.size());
      writer.varint(frozen_.events.size());
    });
  }
  while (!done() && out.size() < enough) {
    const size_t kept = frozen_.kept.size();
    put_version(out, *(next_ < kept ? frozen_.kept[next_] : frozen_.events[next_ - kept]));
    ++next_;
  }
}

size_t StoreDecoder::take(std::string_view bytes) {
  size_t taken = 0;
  while (!failed_ && !done()) {
    const std::string_view rest = bytes.substr(taken);
    if (rest.size() < kLengthBytes) break;
    const uint32_t length = ByteReader(rest).u32();
    failed_ = length > kItemBytesMax;
    if (failed_ || rest.size() - kLengthBytes < length) break;
    failed_ = !take_item(rest.substr(kLengthBytes, length));
    taken += kLengthBytes + length;
  }
  return taken;
}

bool StoreDecoder::take_item(std::string_view item) {
  if (!head_seen_) return take_head(item);
  KeyValuePtr version = read_version(item);
  if (!version) return false;
  if (kept_left_ > 0) {
    --kept_left_;
    return store_.restore_kept(std::move(version));
  }
  --events_left_;
  return store_.restore_event(std::move(version));
}

bool StoreDecoder::take_head(std::string_view item) {
  ByteReader reader(item);
  const Revision revision{read_number(reader)};
  const Revision compacted{read_number(reader)};
  kept_left_ = reader.varint();
  events_left_ = reader.varint();
  head_seen_ = reader.done() && compacted <= revision;
  store_.begin_restore(revision, compacted);
  return head_seen_;
}

}  // namespace assay::kv
