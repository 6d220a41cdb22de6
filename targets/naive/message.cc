#include "targets/naive/message.h"

#include "targets/kv/http/error_table.h"
#include "targets/kv/service/bytes.h"
#include "targets/kv/service/codec.h"

namespace assay::naive {
namespace {

using kv::ByteReader;
using kv::ByteWriter;

// The errors of a store are constants: one travels as its place among them.
constexpr kv::Error kErrors[] = {
    kv::kEmptyKey,        kv::kDuplicateKey,   kv::kTooManyOps, kv::kRequestTooLarge,
    kv::kCompacted,       kv::kFutureRevision, kv::kNoLeader,   kv::kNotLeader,
    kv::kTooManyRequests, kv::kLeaderChanged,  kv::kTimeout,
};

// --- Results -------------------------------------------------------------------------------------

void write(ByteWriter& out, const kv::KeyValuePtr& kv) {
  out.u8(kv ? 1 : 0);
  if (!kv) return;
  out.string(kv->key);
  out.signed_varint(kv->create_revision.value);
  out.signed_varint(kv->mod_revision.value);
  out.signed_varint(kv->version);
  out.string(kv->value);
}
kv::KeyValuePtr read_kv(ByteReader& in) {
  if (in.upto(1) == 0) return nullptr;
  auto kv = std::make_shared<kv::KeyValue>();
  kv->key = in.string();
  kv->create_revision.value = in.signed_varint();
  kv->mod_revision.value = in.signed_varint();
  kv->version = in.signed_varint();
  kv->value = in.string();
  return kv;
}

void write(ByteWriter& out, const std::vector<kv::KeyValuePtr>& kvs) {
  out.varint(kvs.size());
  for (const kv::KeyValuePtr& kv : kvs) write(out, kv);
}
// What a store hands out is never null.
std::vector<kv::KeyValuePtr> read_kvs(ByteReader& in) {
  std::vector<kv::KeyValuePtr> kvs;
  for (uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    kvs.push_back(read_kv(in));
    if (!kvs.back()) in.fail();
  }
  return kvs;
}

void write(ByteWriter& out, const kv::Response& response) {
  out.signed_varint(response.revision.value);
  out.u8(static_cast<uint8_t>(response.body.index()));
  if (const auto* range = std::get_if<kv::RangeResponse>(&response.body)) {
    write(out, range->kvs);
    out.u8(range->more ? 1 : 0);
    out.signed_varint(range->count);
  } else if (const auto* put = std::get_if<kv::PutResponse>(&response.body)) {
    write(out, put->prev_kv);
  } else if (const auto* removed = std::get_if<kv::DeleteRangeResponse>(&response.body)) {
    out.signed_varint(removed->deleted);
    write(out, removed->prev_kvs);
  } else if (const auto* txn = std::get_if<kv::TxnResponse>(&response.body)) {
    out.u8(txn->succeeded ? 1 : 0);
    out.varint(txn->responses.size());
    for (const kv::Response& part : txn->responses) write(out, part);
  }
}

kv::Response read_response(ByteReader& in, int depth) {
  kv::Response response;
  response.revision.value = in.signed_varint();
  const uint8_t kind = in.upto(4);
  if (kind == 0) {
    kv::RangeResponse range;
    range.kvs = read_kvs(in);
    range.more = in.upto(1) == 1;
    range.count = in.signed_varint();
    response.body = std::move(range);
  } else if (kind == 1) {
    response.body = kv::PutResponse{read_kv(in)};
  } else if (kind == 2) {
    kv::DeleteRangeResponse removed;
    removed.deleted = in.signed_varint();
    removed.prev_kvs = read_kvs(in);
    response.body = std::move(removed);
  } else if (kind == 3) {
    kv::TxnResponse txn;
    txn.succeeded = in.upto(1) == 1;
    if (depth == 0) in.fail();
    for (uint64_t left = in.count(); left > 0 && in.ok(); --left)
      txn.responses.push_back(read_response(in, depth - 1));
    response.body = std::move(txn);
  } else {
    response.body = kv::CompactionResponse{};
  }
  return response;
}

void write(ByteWriter& out, const kv::Result& result) {
  const auto* error = std::get_if<kv::Error>(&result);
  out.u8(error == nullptr ? 0 : 1);
  if (error == nullptr) return write(out, std::get<kv::Response>(result));
  uint8_t place = 0;
  while (place < std::size(kErrors) && kErrors[place] != *error) ++place;
  out.u8(place);
}
kv::Result read_result(ByteReader& in) {
  if (in.upto(1) == 0) return read_response(in, 32);
  const uint8_t place = in.u8();
  // An error of another version's: nobody knows what it says of the request.
  return place < std::size(kErrors) ? kErrors[place] : kv::kTimeout;
}

// --- Bodies --------------------------------------------------------------------------------------

void write(ByteWriter& out, const LogEntry& entry) {
  out.varint(entry.epoch);
  out.string(entry.change);
}
LogEntry read_entry(ByteReader& in) {
  LogEntry entry;
  entry.epoch = in.varint();
  entry.change = in.string();
  return entry;
}

void write(ByteWriter& out, const Beat& beat) {
  out.varint(beat.epoch);
  out.u8(beat.leads ? 1 : 0);
  out.varint(beat.length);
  out.u64(beat.chain);
}
void read(ByteReader& in, Beat& beat) {
  beat.epoch = in.varint();
  beat.leads = in.upto(1) == 1;
  beat.length = in.varint();
  beat.chain = in.u64();
}

void write(ByteWriter& out, const NewEntry& entry) {
  out.varint(entry.epoch);
  out.varint(entry.index);
  out.u64(entry.chain_before);
  write(out, entry.entry);
}
void read(ByteReader& in, NewEntry& entry) {
  entry.epoch = in.varint();
  entry.index = in.varint();
  entry.chain_before = in.u64();
  entry.entry = read_entry(in);
}

void write(ByteWriter& out, const Want& want) {
  out.varint(want.have.size());
  for (const auto& [length, chain] : want.have) {
    out.varint(length);
    out.u64(chain);
  }
}
void read(ByteReader& in, Want& want) {
  for (uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    const uint64_t length = in.varint();
    want.have.emplace_back(length, in.u64());
  }
}

void write(ByteWriter& out, const Entries& entries) {
  out.varint(entries.epoch);
  out.varint(entries.first);
  out.varint(entries.length);
  out.varint(entries.entries.size());
  for (const LogEntry& entry : entries.entries) write(out, entry);
}
void read(ByteReader& in, Entries& entries) {
  entries.epoch = in.varint();
  entries.first = in.varint();
  entries.length = in.varint();
  for (uint64_t left = in.count(); left > 0 && in.ok(); --left)
    entries.entries.push_back(read_entry(in));
}

void write(ByteWriter& out, const Forward& forward) {
  out.varint(forward.id);
  std::string request;
  kv::encode(forward.request, request);
  out.string(request);
}
void read(ByteReader& in, Forward& forward) {
  forward.id = in.varint();
  auto request = kv::decode(in.string());
  if (!request) return in.fail();
  forward.request = std::move(*request);
}

void write(ByteWriter& out, const Reply& reply) {
  out.varint(reply.id);
  write(out, reply.result);
}
void read(ByteReader& in, Reply& reply) {
  reply.id = in.varint();
  reply.result = read_result(in);
}

template <size_t kKind = 0>
void read_body(ByteReader& in, size_t kind, decltype(Message::body)& body) {
  if constexpr (kKind < std::variant_size_v<decltype(Message::body)>) {
    if (kind != kKind) return read_body<kKind + 1>(in, kind, body);
    read(in, body.emplace<kKind>());
  } else {
    in.fail();
  }
}

}  // namespace

std::string encode(const Message& message) {
  std::string out;
  ByteWriter writer(out);
  writer.varint(message.from.value);
  writer.u8(static_cast<uint8_t>(message.body.index()));
  std::visit([&](const auto& body) { write(writer, body); }, message.body);
  return out;
}

std::optional<Message> decode(std::string_view bytes) {
  ByteReader reader(bytes);
  Message message;
  message.from.value = reader.varint();
  read_body(reader, reader.u8(), message.body);
  if (!reader.done()) return std::nullopt;
  return message;
}

}  // namespace assay::naive
