// How a History lies in memory. Private to history.cc: nobody else includes this.
//
// An operation is a record of 64 bytes, in chunks that never move; tokens and scheduled times are
// columns beside the records of a chunk, there only where a chunk uses them. What does not fit a
// record (composite values, errors, numbers out of range, fields of others) is in side tables.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkers/history/history.h"

namespace assay {

inline constexpr uint32_t kWide32 = UINT32_MAX;  // the number is in the operation's Rare
inline constexpr uint16_t kWide16 = UINT16_MAX;

enum class SlotKind : uint8_t {
  kNull,
  kBool,
  kInt,
  kDouble,
  kString,     // bits: symbol
  kComposite,  // bits: ordinal in Store::composites
  kArgument,   // of a result: the same as the inline pair of the argument
};

// A value in a record: scalar, or a number that stands for a composite.
struct Slot {
  SlotKind kind = SlotKind::kNull;
  int64_t bits = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

enum Column : uint8_t { kRevision, kAt, kExpected, kCurrent, kColumns };

struct Record {
  int64_t invoke_time = -1;
  int64_t argument[2] = {0, 0};  // the second only of an inline pair
  int64_t result = 0;
  uint32_t process = 0;
  uint32_t key = 0;
  uint32_t node = 0;
  Position invoke_position = 0;
  Position return_position = kOpen;
  uint32_t return_delay = 0;   // return time - invoke time
  uint16_t f = 0;              // ordinal in Store::fs
  uint16_t error = 0;          // ordinal in Store::errors; 0: none
  uint8_t argument_kinds = 0;  // SlotKind of the first, and of the second above it
  uint8_t token_kinds = 0;     // two bits per column: 0 none, 1 number, 2 text
  SlotKind result_kind = SlotKind::kNull;
  OpType type : 4 = OpType::kInfo;
  bool argument_is_pair : 1 = false;
  bool has_rare : 1 = false;
  bool has_scheduled : 1 = false;  // in the column
};
static_assert(sizeof(Record) == 64);

inline constexpr size_t kChunkBits = 10;
inline constexpr size_t kChunkSize = size_t{1} << kChunkBits;

struct Chunk {
  std::array<Record, kChunkSize> records;
  std::unique_ptr<int64_t[]> columns[kColumns];
  std::unique_ptr<uint32_t[]> scheduled_delay;  // invoke time - scheduled time
};

struct Rare {
  int64_t process = 0;
  Nanos return_time{-1};
  Nanos scheduled{-1};
  Symbol f;
  uint32_t error = 0;
  uint32_t invoke_extra = 0;  // ordinals in Store::composites; 0: none
  uint32_t return_extra = 0;
  uint32_t error_extra = 0;
};

struct History::Store {
  HistoryHeader header;
  std::vector<std::unique_ptr<Chunk>> chunks;
  size_t operations = 0;
  std::vector<NemesisOp> nemesis;
  std::vector<Observation> observations;
  std::vector<std::string> warnings;
  Position events = 0;
  Nanos end_time{0};

  std::vector<Symbol> fs;
  std::vector<std::pair<Symbol, Symbol>> errors{{}};  // class and text; the first is none
  std::vector<Value> composites{{}};  // distinct ones, values and extras; the first is null
  // Of the composites with two elements, one of them composite itself.
  std::unordered_map<uint32_t, std::array<Slot, 2>> composite_pairs;
  std::unordered_map<uint32_t, Rare> rares;  // by id of the operation
  // Index of a line = its position + the second of the last run that starts at or before it.
  std::vector<std::pair<Position, int64_t>> index_runs;
  size_t composite_bytes = 0;  // what the composites hold on the heap
  // Line of the file = position + ahead, of the last run that starts at or before it.
  struct PlaceRun {
    Position from = 0;
    uint32_t column = 1;
    int64_t ahead = 0;
  };
  std::vector<PlaceRun> place_runs;
  std::string source;

  Record& record(size_t id) { return chunks[id >> kChunkBits]->records[id % kChunkSize]; }
  const Record& record(size_t id) const {
    return chunks[id >> kChunkBits]->records[id % kChunkSize];
  }
  const Rare* rare(size_t id) const {
    return record(id).has_rare ? &rares.at(static_cast<uint32_t>(id)) : nullptr;
  }
  int64_t index_of(Position position) const;
  std::optional<Place> place_of(Position position) const;
  void note_place(Place place);  // of the next line
  Token token(size_t id, Column column) const;
  Value value_of(Slot slot) const;
  Slot argument_slot(const Record& record) const;
  Slot result_slot(const Record& record) const;
  const std::pair<Symbol, Symbol>& error(size_t id) const;
  size_t bytes() const;  // of the client operations
};

}  // namespace assay
