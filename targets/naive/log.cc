#include "targets/naive/log.h"

namespace assay::naive {
namespace {

constexpr uint8_t kEntry = 'e';
constexpr uint8_t kCut = 'c';

std::string record_of(const LogEntry& entry) {
  std::string record;
  kv::ByteWriter writer(record);
  writer.u8(kEntry);
  writer.varint(entry.epoch);
  writer.string(entry.change);
  return record;
}

}  // namespace

bool Log::perform(kv::Request request, uint64_t epoch, kv::Result& result) {
  Change made;
  result = copy_.perform(std::move(request), made, epoch);
  if (made.empty()) return false;
  LogEntry& entry = entries_.emplace_back(LogEntry{epoch, {}});
  kv::ByteWriter writer(entry.change);
  encode(made, writer);
  env_.save(record_of(entry));
  return true;
}

bool Log::add(const LogEntry& entry) {
  kv::ByteReader reader(entry.change);
  const Change change = decode_change(reader);
  if (!reader.done()) return false;
  copy_.apply(change, entry.epoch);
  entries_.push_back(entry);
  return true;
}

bool Log::append(const LogEntry& entry) {
  if (!add(entry)) return false;
  env_.save(record_of(entry));
  return true;
}

void Log::rebuild(uint64_t length) {
  std::vector<LogEntry> entries = std::move(entries_);
  entries_.clear();
  copy_ = Copy(policy_);
  for (uint64_t i = 0; i < length && i < entries.size(); ++i) add(entries[i]);
}

void Log::cut(uint64_t length) {
  if (length >= entries_.size()) return;
  rebuild(length);
  std::string record;
  kv::ByteWriter writer(record);
  writer.u8(kCut);
  writer.varint(length);
  env_.save(record);
}

bool Log::restore(std::string_view record) {
  kv::ByteReader reader(record);
  const uint8_t kind = reader.u8();
  if (kind == kCut) {
    rebuild(reader.varint());
  } else if (kind == kEntry) {
    LogEntry entry;
    entry.epoch = reader.varint();
    entry.change = reader.string();
    add(entry);
  }
  return kind == kCut || kind == kEntry;
}

Want Log::samples() const {
  Want want;
  for (uint64_t back = 0, step = 1; back < length(); back += step, step *= 2)
    want.have.emplace_back(length() - back, *copy_.chain_at(length() - back));
  want.have.emplace_back(0, *copy_.chain_at(0));
  return want;
}

uint64_t Log::common_with(const Want& want) const {
  for (const auto& [length, chain] : want.have) {
    if (has(length, chain)) return length;
  }
  return 0;
}

}  // namespace assay::naive
