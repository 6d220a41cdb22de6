// History: everything that was recorded of one run, paired once: client operations, what the
// nemesis did, what the observer saw. Immutable after it is built; any number of threads may read.
//
// A *position* is the ordinal of a line (header not counted): dense, from 0, shared by all lines of
// the file. Order of positions is the order of events and authoritative; times are for people and
// for checks of durations. Memory: at most 96 bytes per client operation whose key, node, error
// class and values are scalars ([a,b] arguments of cas included).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/op.h"
#include "checkers/history/place.h"

namespace assay {

class History;

using Position = uint32_t;
inline constexpr Position kOpen = UINT32_MAX;  // no completion: after every position

// A value of scalar kind in 16 bytes, for checkers that compare many: equal if and only if the
// Values are equal. A composite is one number per distinct composite of its history.
struct Scalar {
  uint8_t kind = 0;  // opaque but for 0: null
  int64_t bits = 0;
  friend auto operator<=>(const Scalar&, const Scalar&) = default;
};

// A view of one client operation; valid as long as its History. Cheap to copy.
class Operation {
 public:
  size_t id() const { return id_; }  // ordinal among the client operations, in order of invocation
  Process process() const;
  Symbol f() const;
  Symbol key() const;
  // Outcome: ok, fail, or info. An operation that never completed is info.
  OpType type() const;
  Position invoke_position() const;
  Position return_position() const;   // kOpen when there is no completion line
  Nanos invoke_time() const;          // Nanos{-1} when the file has no times
  Nanos return_time() const;          // kNever when there is no completion line
  int64_t invoke_index() const;       // "index" of the line in the file (its position, if absent)
  int64_t return_index() const;       // -1 when there is no completion line

  Value argument() const;             // value of the invocation
  Value result() const;               // value of the completion; null when there is none
  // Of any argument but the [a,b] of a cas, which has no number of its own (aborts: use
  // argument_pair). The result of a cas likewise.
  Scalar argument_scalar() const;
  Scalar result_scalar() const;
  // Of a two-element array argument, such as that of a cas; false when the argument is not one.
  bool argument_pair(Scalar& first, Scalar& second) const;

  // A field that both lines may carry: the completion's, else the invocation's; of key and
  // expected the invocation's, else the completion's.
  Symbol node() const;                // empty when absent
  Token revision() const;             // all three: none when absent
  Token at() const;
  Token expected() const;
  Symbol error_class() const;         // empty when there was no error
  std::string_view error_text() const;
  Token error_current() const;
  Value error_extra() const;
  Nanos scheduled() const;            // Nanos{-1} when absent
  Value invoke_extra() const;         // further fields of the lines, objects or null
  Value return_extra() const;

 private:
  friend class History;
  Operation(const History& history, size_t id) : history_(&history), id_(id) {}
  const History* history_;
  size_t id_;
};

// Both lines of what the nemesis did. The certain interval of a fault is from the completion of
// its start to the invocation of its heal.
struct NemesisOp {
  Op invocation;
  Op completion;  // type kInvoke when it is missing (the driver died in between)
  Position invoke_position = 0;
  Position return_position = kOpen;
};

struct Observation {
  Op op;
  Position position = 0;
};

// What the first line of the file says; every field has the default of a file without one.
struct HistoryHeader {
  bool present = false;
  std::string target;
  std::string workload;
  std::vector<std::string> checkers;
  std::string model;                 // empty: to be guessed
  Value initial;                     // of every key, unless an object keyed by key
  bool failed_cas_observes = true;   // "failed_cas": "observe" | "ignore"
  bool null_read_is_value = true;    // "null_read": "value" | "unknown"
  bool token_orderable = false;      // "token": "orderable" | "opaque"
  std::vector<std::string> nodes;
  std::vector<std::string> faults;   // claimed kinds: "partition", "pause", "kill"
  uint64_t seed = 0;
  Value raw;                         // the whole line as an object, unknown fields included

  // The initial value of a key: initial itself, or its member of that name when it is an object.
  Value initial_of(Symbol key) const;
};

class History {
 public:
  History();
  ~History();
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;

  const HistoryHeader& header() const;
  HistoryHeader& mutable_header();  // `assay check` puts what its options say over it
  void warn(std::string warning);   // … and adds what it notices

  size_t size() const;              // client operations
  Operation operator[](size_t id) const { return Operation(*this, id); }
  const std::vector<NemesisOp>& nemesis() const;
  const std::vector<Observation>& observations() const;
  // What argument_scalar and result_scalar give for that value. A composite that does not occur in
  // the history gives a scalar that equals none of it.
  Scalar scalar_of(const Value& value) const;
  Position events() const;          // lines in all
  Nanos end_time() const;           // of the last line; 0 when there are no times
  const std::vector<std::string>& warnings() const;  // torn tail, times that go back, …
  size_t bytes_per_operation() const;                // as stored, side tables included
  const std::string& source() const;  // the file it was read from, as messages name it; or empty
  std::optional<Place> place_of(Position position) const;  // in that file
  // An input error about what an operation was asked (its answer: where it returned), with
  // file:line:column in front; "operation 12: …" where it was read from no file.
  Error error_at(const Operation& operation, const std::string& what) const;
  Error error_at_answer(const Operation& operation, const std::string& what) const;

  // Calls fn with every line again, in order. A field that both lines of an operation carried
  // appears on the line where it belongs (node, revision, at, error: the completion).
  void for_each_line(const std::function<void(const Op&)>& fn) const;

 private:
  friend class Operation;
  friend class HistoryBuilder;
  struct Store;
  std::unique_ptr<Store> store_;
};

// Builds a History line by line, and pairs. Single-threaded.
class HistoryBuilder {
 public:
  HistoryBuilder();
  ~HistoryBuilder();
  void set_header(HistoryHeader header);
  // One line. The error says what was expected and what was found, without a position in a file:
  // a process that invokes while its operation is open, a completion without invocation, with
  // another f or another key, an index that does not increase or is on some lines only, a time
  // that goes back under our header (without one: a warning).
  Result<void> add(const Op& line);
  // The same of a line that begins there in the file that set_source() names.
  Result<void> add(const Op& line, std::optional<Place> place);
  void set_source(std::string file);
  void warn(std::string warning);
  size_t memory_bytes() const;  // so far, about; without the symbols
  // Open operations become info. The builder is empty afterwards.
  History build();

 private:
  std::unique_ptr<History::Store> store_;
  struct Pairing;
  std::unique_ptr<Pairing> pairing_;
};

}  // namespace assay
