#include "checkers/history/symbol.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

#include "checkers/history/error.h"

namespace assay {
namespace {

struct Entry {
  const char* text = nullptr;
  uint32_t size = 0;
};

// One slot of a hash table: the upper half of the hash and the id, published together. 0: free.
struct Table {
  explicit Table(size_t slot_count)
      : slots(new std::atomic<uint64_t>[slot_count]()), mask(slot_count - 1) {}
  std::atomic<uint64_t>* slots;
  size_t mask;
  Table* older = nullptr;  // readers may still be in it: kept, and its size is half of this one's
};

uint64_t load64(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_text(std::string_view text) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = text.size() * kOdd;
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; p += 8, left -= 8) hash = mix(hash ^ load64(p), kOdd);
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    hash = mix(hash ^ tail, 0xd1b54a32d192ed03);
  }
  return mix(hash, 0xa0761d6478bd642f);
}

// Ids index an array that grows by chunks of doubling size, so that an entry never moves. Whoever
// holds an id got it after its entry was written: from a slot (release, acquire), or from another
// thread by whatever hands values between threads.
class Interner {
 public:
  uint32_t intern(std::string_view text) {
    if (text.empty()) return 0;
    const uint64_t hash = hash_text(text);
    if (uint32_t id = find(table_.load(std::memory_order_acquire), hash, text)) return id;
    const std::lock_guard lock(mutex_);
    if (uint32_t id = find(table_.load(std::memory_order_relaxed), hash, text)) return id;
    return insert(hash, text);
  }

  std::string_view text(uint32_t id) const {
    if (id == 0) return {};
    const Place place(id);
    const Entry* chunk = chunks_[place.chunk].load(std::memory_order_acquire);
    ASSAY_CHECK(chunk != nullptr, "symbol %u was never interned", id);
    return {chunk[place.offset].text, chunk[place.offset].size};
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  uint64_t bytes_with(uint32_t more) const {
    const std::lock_guard lock(mutex_);
    const uint64_t last = uint64_t{last_id_} + more;
    uint64_t bytes = this->bytes();
    if (2 * (last + 1) > table_size()) bytes += 2 * table_size() * sizeof(uint64_t);
    const Place place(static_cast<uint32_t>(last));
    if (chunks_[place.chunk].load(std::memory_order_relaxed) == nullptr)
      bytes += sizeof(Entry) << (place.chunk + kFirstChunkBits);
    return bytes;
  }

 private:
  static constexpr int kFirstChunkBits = 10;
  static constexpr size_t kArenaBlock = 64 * 1024;

  struct Place {
    explicit Place(uint32_t id) {
      const uint64_t n = uint64_t{id} + (1u << kFirstChunkBits);
      chunk = static_cast<int>(std::bit_width(n)) - 1 - kFirstChunkBits;
      offset = n - (uint64_t{1} << (chunk + kFirstChunkBits));
    }
    int chunk;
    uint64_t offset;
  };

  uint32_t find(const Table* table, uint64_t hash, std::string_view text) const {
    if (table == nullptr) return 0;
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
      const uint64_t slot = table->slots[i].load(std::memory_order_acquire);
      if (slot == 0) return 0;
      if ((slot ^ hash) >> 32 != 0) continue;
      const auto id = static_cast<uint32_t>(slot);
      if (this->text(id) == text) return id;
    }
  }

  // The rest is under the mutex.
  uint32_t insert(uint64_t hash, std::string_view text) {
    ASSAY_CHECK(last_id_ < UINT32_MAX - 1 && text.size() < UINT32_MAX,
                "%u symbols, text of %zu bytes", last_id_, text.size());
    const uint32_t id = ++last_id_;
    const Place place(id);
    Entry* chunk = chunks_[place.chunk].load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      const size_t count = size_t{1} << (place.chunk + kFirstChunkBits);
      chunk = new Entry[count];
      chunks_[place.chunk].store(chunk, std::memory_order_release);
      add_bytes(count * sizeof(Entry));
    }
    chunk[place.offset] = {store(text), static_cast<uint32_t>(text.size())};
    if (table_size() < 2 * (uint64_t{id} + 1)) grow();
    put(table_.load(std::memory_order_relaxed), hash, id, std::memory_order_release);
    return id;
  }

  const char* store(std::string_view text) {
    if (text.size() > arena_left_) {
      const size_t size = text.size() > kArenaBlock / 4 ? text.size() : kArenaBlock;
      char* block = new char[size];
      add_bytes(size);
      if (size != kArenaBlock) {  // a long text has a block of its own
        std::memcpy(block, text.data(), text.size());
        return block;
      }
      arena_ = block;
      arena_left_ = size;
    }
    char* place = arena_;
    std::memcpy(place, text.data(), text.size());
    arena_ += text.size();
    arena_left_ -= text.size();
    return place;
  }

  uint64_t table_size() const {
    const Table* table = table_.load(std::memory_order_relaxed);
    return table == nullptr ? 0 : table->mask + 1;
  }

  void grow() {
    Table* old = table_.load(std::memory_order_relaxed);
    const size_t size = old == nullptr ? 1024 : 2 * (old->mask + 1);
    auto* table = new Table(size);
    add_bytes(size * sizeof(uint64_t));
    table->older = old;
    for (uint32_t id = 1; id < last_id_; ++id)
      put(table, hash_text(text(id)), id, std::memory_order_relaxed);
    table_.store(table, std::memory_order_release);
  }

  static void put(Table* table, uint64_t hash, uint32_t id, std::memory_order order) {
    size_t i = hash & table->mask;
    while (table->slots[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & table->mask;
    table->slots[i].store((hash >> 32 << 32) | id, order);
  }

  void add_bytes(size_t n) { bytes_.fetch_add(n, std::memory_order_relaxed); }

  std::array<std::atomic<Entry*>, 33 - kFirstChunkBits> chunks_{};
  std::atomic<Table*> table_{nullptr};
  std::atomic<uint64_t> bytes_{0};
  mutable std::mutex mutex_;
  uint32_t last_id_ = 0;
  char* arena_ = nullptr;
  size_t arena_left_ = 0;
};

// Without a guard and never destroyed: symbols are made before main() and used after it.
constinit Interner interner;

}  // namespace

Symbol::Symbol(std::string_view text) : id_(interner.intern(text)) {}

std::string_view Symbol::text() const { return interner.text(id_); }

uint64_t symbol_bytes() { return interner.bytes(); }

uint64_t symbol_bytes_with(uint32_t more) { return interner.bytes_with(more); }

}  // namespace assay
