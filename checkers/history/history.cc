#include "checkers/history/history.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_set>

#include "checkers/history/history_store.h"

namespace assay {
namespace {

uint8_t kinds(Slot first, Slot second) {
  return static_cast<uint8_t>(static_cast<int>(first.kind) | static_cast<int>(second.kind) << 4);
}

Slot first_slot(const Record& record) {
  return {static_cast<SlotKind>(record.argument_kinds & 15), record.argument[0]};
}

Slot second_slot(const Record& record) {
  return {static_cast<SlotKind>(record.argument_kinds >> 4), record.argument[1]};
}

// False for a composite.
bool scalar_slot(const Value& value, Slot& slot) {
  if (value.is_null()) {
    slot = {};
  } else if (value.is_bool()) {
    slot = {SlotKind::kBool, value.as_bool()};
  } else if (value.is_int()) {
    slot = {SlotKind::kInt, value.as_int()};
  } else if (value.is_double()) {
    const auto whole = whole_number(value.as_double());
    slot = whole ? Slot{SlotKind::kInt, *whole}
                 : Slot{SlotKind::kDouble, std::bit_cast<int64_t>(value.as_double())};
  } else if (value.is_string()) {
    slot = {SlotKind::kString, value.as_symbol().id()};
  } else {
    return false;
  }
  return true;
}

Scalar scalar_of(Slot slot) {
  ASSAY_CHECK(slot.kind != SlotKind::kArgument, "the [a,b] of a cas: use argument_pair");
  return {static_cast<uint8_t>(slot.kind), slot.bits};
}

bool is_pair(const Value& value) { return value.is_array() && value.as_array().size() == 2; }

std::string process_name(Process process) {
  if (process == kNemesis) return "nemesis";
  if (process == kObserver) return "observer";
  return std::to_string(process.id);
}

std::string quoted(Symbol text) {
  std::string out;
  append_json_string(out, text.text());
  return out;
}

}  // namespace

// --- Store -------------------------------------------------------------------------------------

int64_t History::Store::index_of(Position position) const {
  const auto after =
      std::upper_bound(index_runs.begin(), index_runs.end(), position,
                       [](Position wanted, const auto& run) { return wanted < run.first; });
  return int64_t{position} + (after == index_runs.begin() ? 0 : std::prev(after)->second);
}

std::optional<Place> History::Store::place_of(Position position) const {
  const auto after =
      std::upper_bound(place_runs.begin(), place_runs.end(), position,
                       [](Position wanted, const PlaceRun& run) { return wanted < run.from; });
  if (after == place_runs.begin()) return std::nullopt;
  const PlaceRun& run = *std::prev(after);
  return Place{static_cast<size_t>(int64_t{position} + run.ahead), run.column};
}

// Most files have an operation a line, and so a run or two.
void History::Store::note_place(Place place) {
  const int64_t ahead = static_cast<int64_t>(place.line) - int64_t{events};
  const auto column = static_cast<uint32_t>(std::min<size_t>(place.column, UINT32_MAX));
  if (!place_runs.empty() && place_runs.back().ahead == ahead && place_runs.back().column == column)
    return;
  place_runs.push_back({events, column, ahead});
}

Token History::Store::token(size_t id, Column column) const {
  switch (record(id).token_kinds >> (2 * column) & 3) {
    case 0:
      return {};
    case 1:
      return Token(chunks[id >> kChunkBits]->columns[column][id % kChunkSize]);
    default:
      return Token(Symbol::from_id(
          static_cast<uint32_t>(chunks[id >> kChunkBits]->columns[column][id % kChunkSize])));
  }
}

Value History::Store::value_of(Slot slot) const {
  switch (slot.kind) {
    case SlotKind::kNull:
      return {};
    case SlotKind::kBool:
      return slot.bits != 0;
    case SlotKind::kInt:
      return slot.bits;
    case SlotKind::kDouble:
      return std::bit_cast<double>(slot.bits);
    case SlotKind::kString:
      return Symbol::from_id(static_cast<uint32_t>(slot.bits));
    case SlotKind::kComposite:
      return composites[slot.bits];
    case SlotKind::kArgument:
      break;
  }
  ASSAY_CHECK(false, "a slot of kind %d has no value of its own", static_cast<int>(slot.kind));
  return {};
}

const std::pair<Symbol, Symbol>& History::Store::error(size_t id) const {
  const uint16_t ordinal = record(id).error;
  return errors[ordinal == kWide16 ? rare(id)->error : ordinal];
}

size_t History::Store::bytes() const {
  size_t total = chunks.size() * sizeof(Chunk) + chunks.capacity() * sizeof(chunks[0]);
  for (const auto& chunk : chunks) {
    for (const auto& column : chunk->columns)
      if (column) total += kChunkSize * sizeof(int64_t);
    if (chunk->scheduled_delay) total += kChunkSize * sizeof(uint32_t);
  }
  constexpr size_t kMapNode = 32;
  total += composites.capacity() * sizeof(Value) + composite_bytes;
  total += composite_pairs.size() * (sizeof(std::array<Slot, 2>) + kMapNode);
  total += rares.size() * (sizeof(Rare) + kMapNode);
  total += index_runs.capacity() * sizeof(index_runs[0]);
  total += place_runs.capacity() * sizeof(place_runs[0]);
  total += errors.capacity() * sizeof(errors[0]) + fs.capacity() * sizeof(Symbol);
  return total;
}

// --- Operation ---------------------------------------------------------------------------------

Process Operation::process() const {
  const uint32_t process = history_->store_->record(id_).process;
  return {process == kWide32 ? history_->store_->rare(id_)->process : int64_t{process}};
}

Symbol Operation::f() const {
  const uint16_t f = history_->store_->record(id_).f;
  return f == kWide16 ? history_->store_->rare(id_)->f : history_->store_->fs[f];
}

Symbol Operation::key() const { return Symbol::from_id(history_->store_->record(id_).key); }

OpType Operation::type() const { return history_->store_->record(id_).type; }

Position Operation::invoke_position() const {
  return history_->store_->record(id_).invoke_position;
}

Position Operation::return_position() const {
  return history_->store_->record(id_).return_position;
}

Nanos Operation::invoke_time() const { return {history_->store_->record(id_).invoke_time}; }

Nanos Operation::return_time() const {
  const Record& record = history_->store_->record(id_);
  if (record.return_position == kOpen) return kNever;
  if (record.return_delay == kWide32) return history_->store_->rare(id_)->return_time;
  return {record.invoke_time + record.return_delay};
}

int64_t Operation::invoke_index() const { return history_->store_->index_of(invoke_position()); }

int64_t Operation::return_index() const {
  const Position position = return_position();
  return position == kOpen ? -1 : history_->store_->index_of(position);
}

Value Operation::argument() const {
  const Record& record = history_->store_->record(id_);
  const Value first = history_->store_->value_of(first_slot(record));
  if (!record.argument_is_pair) return first;
  return Value::pair(first, history_->store_->value_of(second_slot(record)));
}

Value Operation::result() const {
  const Record& record = history_->store_->record(id_);
  if (record.result_kind == SlotKind::kArgument) return argument();
  return history_->store_->value_of({record.result_kind, record.result});
}

Scalar Operation::argument_scalar() const {
  const Record& record = history_->store_->record(id_);
  ASSAY_CHECK(!record.argument_is_pair, "the [a,b] of a cas: use argument_pair");
  return scalar_of(first_slot(record));
}

Scalar Operation::result_scalar() const {
  const Record& record = history_->store_->record(id_);
  return scalar_of({record.result_kind, record.result});
}

bool Operation::argument_pair(Scalar& first, Scalar& second) const {
  const History::Store& store = *history_->store_;
  const Record& record = store.record(id_);
  Slot slots[2] = {first_slot(record), second_slot(record)};
  if (!record.argument_is_pair) {
    if (slots[0].kind != SlotKind::kComposite) return false;
    const auto parts = store.composite_pairs.find(static_cast<uint32_t>(slots[0].bits));
    if (parts != store.composite_pairs.end()) {
      std::tie(slots[0], slots[1]) = std::tie(parts->second[0], parts->second[1]);
    } else {
      const Value& value = store.composites[slots[0].bits];
      if (!is_pair(value)) return false;
      scalar_slot(value.as_array()[1], slots[1]);
      scalar_slot(value.as_array()[0], slots[0]);
    }
  }
  first = scalar_of(slots[0]);
  second = scalar_of(slots[1]);
  return true;
}

Symbol Operation::node() const { return Symbol::from_id(history_->store_->record(id_).node); }
Token Operation::revision() const { return history_->store_->token(id_, kRevision); }
Token Operation::at() const { return history_->store_->token(id_, kAt); }
Token Operation::expected() const { return history_->store_->token(id_, kExpected); }
Symbol Operation::error_class() const { return history_->store_->error(id_).first; }
std::string_view Operation::error_text() const {
  return history_->store_->error(id_).second.text();
}
Token Operation::error_current() const { return history_->store_->token(id_, kCurrent); }

Nanos Operation::scheduled() const {
  const History::Store& store = *history_->store_;
  const Record& record = store.record(id_);
  if (record.has_scheduled) {
    const Chunk& chunk = *store.chunks[id_ >> kChunkBits];
    return {record.invoke_time - chunk.scheduled_delay[id_ % kChunkSize]};
  }
  const Rare* rare = store.rare(id_);
  return rare == nullptr ? Nanos{-1} : rare->scheduled;
}

Value Operation::invoke_extra() const {
  const Rare* rare = history_->store_->rare(id_);
  return rare == nullptr ? Value() : history_->store_->composites[rare->invoke_extra];
}

Value Operation::return_extra() const {
  const Rare* rare = history_->store_->rare(id_);
  return rare == nullptr ? Value() : history_->store_->composites[rare->return_extra];
}

Value Operation::error_extra() const {
  const Rare* rare = history_->store_->rare(id_);
  return rare == nullptr ? Value() : history_->store_->composites[rare->error_extra];
}

// --- History -----------------------------------------------------------------------------------

Value HistoryHeader::initial_of(Symbol key) const {
  return initial.is_object() ? initial[key.text()] : initial;
}

History::History() : store_(std::make_unique<Store>()) {}
History::~History() = default;
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;

const HistoryHeader& History::header() const { return store_->header; }
HistoryHeader& History::mutable_header() { return store_->header; }
size_t History::size() const { return store_->operations; }
const std::vector<NemesisOp>& History::nemesis() const { return store_->nemesis; }
const std::vector<Observation>& History::observations() const { return store_->observations; }
Position History::events() const { return store_->events; }
Nanos History::end_time() const { return store_->end_time; }
const std::vector<std::string>& History::warnings() const { return store_->warnings; }

const std::string& History::source() const { return store_->source; }
std::optional<Place> History::place_of(Position position) const {
  return store_->place_of(position);
}

namespace {

Error located(const History& history, const Operation& operation, Position position,
              const std::string& what) {
  const std::optional<Place> place = history.place_of(position);
  if (!place)
    return input_error("operation " + std::to_string(operation.invoke_index()) + ": " + what);
  return input_error(history.source() + ":" + std::to_string(place->line) + ":" +
                     std::to_string(place->column) + ": " + what);
}

}  // namespace

Error History::error_at(const Operation& operation, const std::string& what) const {
  return located(*this, operation, operation.invoke_position(), what);
}
Error History::error_at_answer(const Operation& operation, const std::string& what) const {
  const Position answer = operation.return_position();
  return located(*this, operation, answer == kOpen ? operation.invoke_position() : answer, what);
}

void History::warn(std::string warning) { store_->warnings.push_back(std::move(warning)); }

Scalar History::scalar_of(const Value& value) const {
  Slot slot;
  if (!scalar_slot(value, slot)) {
    const auto found = std::find(store_->composites.begin() + 1, store_->composites.end(), value);
    slot = {SlotKind::kComposite,
            found == store_->composites.end() ? -1 : found - store_->composites.begin()};
  }
  return ::assay::scalar_of(slot);
}

size_t History::bytes_per_operation() const {
  return store_->operations == 0 ? 0 : store_->bytes() / store_->operations;
}

namespace {

Op invocation_of(const Operation& operation) {
  Op op;
  op.index = operation.invoke_index();
  op.time = operation.invoke_time();
  op.process = operation.process();
  op.type = OpType::kInvoke;
  op.f = operation.f();
  op.key = operation.key();
  op.value = operation.argument();
  op.expected = operation.expected();
  op.scheduled = operation.scheduled();
  op.extra = operation.invoke_extra();
  if (operation.return_position() == kOpen) {
    op.node = operation.node();
    op.revision = operation.revision();
    op.at = operation.at();
  }
  return op;
}

Op completion_of(const Operation& operation) {
  Op op;
  op.index = operation.return_index();
  op.time = operation.return_time();
  op.process = operation.process();
  op.type = operation.type();
  op.f = operation.f();
  op.key = operation.key();
  op.value = operation.result();
  op.node = operation.node();
  op.revision = operation.revision();
  op.at = operation.at();
  op.extra = operation.return_extra();
  return op;
}

// Also for an error on an invocation that was never completed.
void put_error(const Operation& operation, Op& op) {
  if (operation.error_class().empty() && operation.error_text().empty() &&
      operation.error_current().none() && operation.error_extra().is_null())
    return;
  op.error = OpError{operation.error_class(), std::string(operation.error_text()),
                     operation.error_current(), operation.error_extra()};
}

}  // namespace

void History::for_each_line(const std::function<void(const Op&)>& fn) const {
  // What stands at each position: an operation's id, or one of the other lines.
  enum class Line : uint8_t { kNone, kInvocation, kCompletion, kNemesis, kNemesisEnd, kObserved };
  std::vector<std::pair<Line, uint32_t>> lines(store_->events);
  for (size_t id = 0; id < size(); ++id) {
    const Record& record = store_->record(id);
    const auto ordinal = static_cast<uint32_t>(id);
    lines[record.invoke_position] = {Line::kInvocation, ordinal};
    if (record.return_position != kOpen)
      lines[record.return_position] = {Line::kCompletion, ordinal};
  }
  for (uint32_t i = 0; i < nemesis().size(); ++i) {
    lines[nemesis()[i].invoke_position] = {Line::kNemesis, i};
    if (nemesis()[i].return_position != kOpen)
      lines[nemesis()[i].return_position] = {Line::kNemesisEnd, i};
  }
  for (uint32_t i = 0; i < observations().size(); ++i)
    lines[observations()[i].position] = {Line::kObserved, i};
  for (const auto& [line, ordinal] : lines) {
    switch (line) {
      case Line::kNone:
        break;
      case Line::kInvocation: {
        const Operation operation = (*this)[ordinal];
        Op op = invocation_of(operation);
        if (operation.return_position() == kOpen) put_error(operation, op);
        fn(op);
        break;
      }
      case Line::kCompletion: {
        const Operation operation = (*this)[ordinal];
        Op op = completion_of(operation);
        put_error(operation, op);
        fn(op);
        break;
      }
      case Line::kNemesis:
        fn(nemesis()[ordinal].invocation);
        break;
      case Line::kNemesisEnd:
        fn(nemesis()[ordinal].completion);
        break;
      case Line::kObserved:
        fn(observations()[ordinal].op);
        break;
    }
  }
}

// --- HistoryBuilder ----------------------------------------------------------------------------

namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct ValueHash {
  const std::vector<Value>* values;
  using is_transparent = void;
  size_t operator()(uint32_t ordinal) const { return (*values)[ordinal].hash(); }
  size_t operator()(const Value& value) const { return value.hash(); }
};

struct ValueEqual {
  const std::vector<Value>* values;
  using is_transparent = void;
  bool operator()(uint32_t a, uint32_t b) const { return a == b; }
  bool operator()(const Value& a, uint32_t b) const { return a == (*values)[b]; }
  bool operator()(uint32_t a, const Value& b) const { return (*values)[a] == b; }
};

}  // namespace

// What is needed only while lines come in.
struct HistoryBuilder::Pairing {
  explicit Pairing(History::Store& s)
      : store(s), composites(8, ValueHash{&s.composites}, ValueEqual{&s.composites}) {}

  History::Store& store;
  // The open operation of each client process: small numbers in an array, others in a map.
  std::vector<uint32_t> open_small;
  std::unordered_map<int64_t, uint32_t> open_large;
  std::unordered_map<Symbol, uint32_t> open_nemesis;  // by f
  std::unordered_map<Symbol, uint16_t> fs;
  std::unordered_map<uint64_t, uint32_t> errors;
  std::unordered_set<uint32_t, ValueHash, ValueEqual> composites;
  Symbol last_f;
  uint16_t last_f_ordinal = kWide16;
  bool has_index = false;
  int64_t last_index = -1;
  int64_t index_delta = 0;
  Nanos last_time{-1};
  size_t times_back = 0;
  std::string first_time_back;

  uint32_t& open_of(Process process) {
    constexpr int64_t kSmall = 1 << 20;
    if (process.id >= kSmall) return open_large.try_emplace(process.id, kNone).first->second;
    if (static_cast<size_t>(process.id) >= open_small.size())
      open_small.resize(std::max<size_t>(2 * open_small.size(), process.id + 1), kNone);
    return open_small[process.id];
  }

  Rare& rare(uint32_t id) {
    store.record(id).has_rare = true;
    return store.rares[id];
  }

  // Without an index a line has its position for one.
  Op indexed(Op line) const {
    if (line.index < 0) line.index = store.events;
    return line;
  }

  Result<void> check_order(const Op& line);
  void note_index(const Op& line);
  Result<void> add_client(const Op& line);
  Result<void> add_nemesis(const Op& line);
  void invoke(const Op& line);
  void finish(uint32_t id, const Op& line);
  bool answers_its_argument(uint32_t id);
  void set_f(uint32_t id, Symbol f);
  void set_error(uint32_t id, const OpError& error);
  void set_token(uint32_t id, Column column, Token token);
  void set_scheduled(uint32_t id, Nanos scheduled);
  void set_argument(uint32_t id, const Op& line);
  void set_result(uint32_t id, const Value& value);
  uint32_t composite(const Value& value);
  Slot slot_of(const Value& value);
};

// Whose answer carries what was asked for, or nothing.
static bool repeats_its_argument(Symbol f) {
  static const Symbol kPut{"put"}, kAppend{"append"}, kAdd{"add"}, kRemove{"remove"};
  return f == f::write || f == f::cas || f == kPut || f == kAppend || f == kAdd || f == kRemove;
}

Result<void> HistoryBuilder::Pairing::check_order(const Op& line) {
  if (store.events == kOpen - 1)
    return input_error("expected at most " + std::to_string(kOpen - 1) + " lines, found more");
  if (store.events > 0 && (line.index >= 0) != has_index)
    return input_error(has_index ? "expected an index as on the lines before, found none"
                                 : "expected no index as on the lines before, found " +
                                       std::to_string(line.index));
  if (line.index >= 0 && line.index <= last_index)
    return input_error("expected an index above " + std::to_string(last_index) + ", found " +
                       std::to_string(line.index));
  if (line.time.count >= 0 && line.time < last_time) {
    const std::string text =
        std::to_string(line.time.count) + " after " + std::to_string(last_time.count);
    if (store.header.present)
      return input_error("expected a time that does not go back, found " + text);
    if (times_back++ == 0)
      first_time_back = "first at event " + std::to_string(store.events) + " (" + text + ")";
  }
  return {};
}

void HistoryBuilder::Pairing::note_index(const Op& line) {
  has_index = line.index >= 0;
  last_index = line.index;
  if (line.time.count >= 0) {
    last_time = line.time;
    store.end_time = line.time;
  }
  const int64_t delta = line.index < 0 ? 0 : line.index - int64_t{store.events};
  if (delta != index_delta) {
    store.index_runs.emplace_back(store.events, delta);
    index_delta = delta;
  }
}

Result<void> HistoryBuilder::Pairing::add_client(const Op& line) {
  uint32_t& open = open_of(line.process);
  if (line.type == OpType::kInvoke) {
    if (open != kNone) {
      const Record& record = store.record(open);
      return input_error("expected the completion of what process " + process_name(line.process) +
                         " invoked at index " +
                         std::to_string(store.index_of(record.invoke_position)) +
                         ", found another invocation by it");
    }
    open = static_cast<uint32_t>(store.operations);
    invoke(line);
    return {};
  }
  const std::string_view type = to_string(line.type);
  if (open == kNone)
    return input_error("expected an invocation of process " + process_name(line.process) +
                       " before its completion, found " + std::string(type) + " of " +
                       quoted(line.f) + " alone");
  const Record& record = store.record(open);
  const Symbol f = record.f == kWide16 ? rare(open).f : store.fs[record.f];
  if (line.f != f)
    return input_error("expected a completion of " + quoted(f) + " by process " +
                       process_name(line.process) + ", found " + std::string(type) + " of " +
                       quoted(line.f));
  if (!line.key.empty() && record.key != 0 && line.key.id() != record.key)
    return input_error("expected a completion with key " + quoted(Symbol::from_id(record.key)) +
                       " by process " + process_name(line.process) + ", found key " +
                       quoted(line.key));
  finish(open, line);
  if (line.type == OpType::kOk && repeats_its_argument(f) && !line.value.is_null() &&
      !answers_its_argument(open)) {
    return input_error("expected the value that process " + process_name(line.process) +
                       " invoked " + quoted(f) + " with, found " + line.value.to_json());
  }
  open = kNone;
  return {};
}

Result<void> HistoryBuilder::Pairing::add_nemesis(const Op& line) {
  const auto open = open_nemesis.find(line.f);
  if (open == open_nemesis.end()) {
    if (line.type == OpType::kOk || line.type == OpType::kFail)
      return input_error("expected an invocation of " + quoted(line.f) +
                         " by the nemesis before its completion, found " +
                         std::string(to_string(line.type)) + " alone");
    open_nemesis.emplace(line.f, static_cast<uint32_t>(store.nemesis.size()));
    store.nemesis.push_back({.invocation = indexed(line), .invoke_position = store.events});
    return {};
  }
  NemesisOp& op = store.nemesis[open->second];
  if (line.type == OpType::kInvoke)
    return input_error("expected the completion of " + quoted(line.f) +
                       " by the nemesis, found another invocation of it");
  op.completion = indexed(line);
  op.return_position = store.events;
  open_nemesis.erase(open);
  return {};
}

void HistoryBuilder::Pairing::invoke(const Op& line) {
  const auto id = static_cast<uint32_t>(store.operations++);
  if (id % kChunkSize == 0) store.chunks.push_back(std::make_unique<Chunk>());
  Record& record = store.record(id);
  record.invoke_position = store.events;
  record.invoke_time = line.time.count;
  record.key = line.key.id();
  record.node = line.node.id();
  if (line.process.id < kWide32) {
    record.process = static_cast<uint32_t>(line.process.id);
  } else {
    record.process = kWide32;
    rare(id).process = line.process.id;
  }
  set_f(id, line.f);
  set_argument(id, line);
  set_token(id, kRevision, line.revision);
  set_token(id, kAt, line.at);
  set_token(id, kExpected, line.expected);
  if (line.error) set_error(id, *line.error);
  if (line.scheduled.count >= 0) set_scheduled(id, line.scheduled);
  if (!line.extra.is_null()) rare(id).invoke_extra = composite(line.extra);
}

void HistoryBuilder::Pairing::finish(uint32_t id, const Op& line) {
  Record& record = store.record(id);
  record.return_position = store.events;
  record.type = line.type;
  const int64_t invoke_time = record.invoke_time;
  const int64_t delay = line.time.count - invoke_time;
  const bool alike = (invoke_time < 0) == (line.time.count < 0);
  if (alike && delay >= 0 && delay < kWide32) {
    record.return_delay = static_cast<uint32_t>(delay);
  } else {
    record.return_delay = kWide32;
    rare(id).return_time = line.time;
  }
  if (record.key == 0) record.key = line.key.id();
  if (!line.node.empty()) record.node = line.node.id();
  set_result(id, line.value);
  set_token(id, kRevision, line.revision);
  set_token(id, kAt, line.at);
  if ((record.token_kinds >> (2 * kExpected) & 3) == 0) set_token(id, kExpected, line.expected);
  if (line.error) set_error(id, *line.error);
  if (line.scheduled.count >= 0 && !record.has_scheduled &&
      (!record.has_rare || rare(id).scheduled.count < 0))
    set_scheduled(id, line.scheduled);
  if (!line.extra.is_null()) rare(id).return_extra = composite(line.extra);
}

bool HistoryBuilder::Pairing::answers_its_argument(uint32_t id) {
  const Record& record = store.record(id);
  if (record.argument_is_pair) return record.result_kind == SlotKind::kArgument;
  return Slot{record.result_kind, record.result} == first_slot(record);
}

void HistoryBuilder::Pairing::set_f(uint32_t id, Symbol f) {
  if (f != last_f || last_f_ordinal == kWide16) {
    const auto known = fs.find(f);
    if (known != fs.end()) {
      last_f_ordinal = known->second;
    } else if (store.fs.size() < kWide16) {
      last_f_ordinal = static_cast<uint16_t>(store.fs.size());
      store.fs.push_back(f);
      fs.emplace(f, last_f_ordinal);
    } else {
      last_f_ordinal = kWide16;
      rare(id).f = f;
    }
    last_f = f;
  }
  store.record(id).f = last_f_ordinal;
}

void HistoryBuilder::Pairing::set_error(uint32_t id, const OpError& error) {
  const Symbol text(error.text);
  const auto next = static_cast<uint32_t>(store.errors.size());
  uint32_t ordinal = 0;
  if (!error.cls.empty() || !text.empty()) {
    const uint64_t name = uint64_t{error.cls.id()} << 32 | text.id();
    const auto [known, is_new] = errors.try_emplace(name, next);
    if (is_new) store.errors.emplace_back(error.cls, text);
    ordinal = known->second;
  }
  if (ordinal < kWide16) {
    store.record(id).error = static_cast<uint16_t>(ordinal);
  } else {
    store.record(id).error = kWide16;
    rare(id).error = ordinal;
  }
  set_token(id, kCurrent, error.current);
  if (!error.extra.is_null()) rare(id).error_extra = composite(error.extra);
}

void HistoryBuilder::Pairing::set_token(uint32_t id, Column column, Token token) {
  if (token.none()) return;
  auto& values = store.chunks[id >> kChunkBits]->columns[column];
  if (!values) values = std::make_unique<int64_t[]>(kChunkSize);
  values[id % kChunkSize] = token.is_number() ? token.number() : token.text().id();
  uint8_t& token_kinds = store.record(id).token_kinds;
  token_kinds = static_cast<uint8_t>(token_kinds & ~(3 << (2 * column)));
  token_kinds = static_cast<uint8_t>(token_kinds | (token.is_number() ? 1 : 2) << (2 * column));
}

void HistoryBuilder::Pairing::set_scheduled(uint32_t id, Nanos scheduled) {
  Record& record = store.record(id);
  const int64_t delay = record.invoke_time - scheduled.count;
  if (record.invoke_time < 0 || delay < 0 || delay >= kWide32) {
    rare(id).scheduled = scheduled;
    return;
  }
  auto& delays = store.chunks[id >> kChunkBits]->scheduled_delay;
  if (!delays) delays = std::make_unique<uint32_t[]>(kChunkSize);
  delays[id % kChunkSize] = static_cast<uint32_t>(delay);
  record.has_scheduled = true;
}

void HistoryBuilder::Pairing::set_argument(uint32_t id, const Op& line) {
  Record& record = store.record(id);
  Slot first;
  Slot second;
  if (!scalar_slot(line.value, first)) {
    // Only of a cas: any other [a,b] may meet an equal value elsewhere, and needs its number.
    record.argument_is_pair = line.f == f::cas && is_pair(line.value) &&
                              scalar_slot(line.value.as_array()[0], first) &&
                              scalar_slot(line.value.as_array()[1], second);
    if (!record.argument_is_pair) {
      first = slot_of(line.value);
      second = {};
    }
  }
  record.argument[0] = first.bits;
  record.argument[1] = second.bits;
  record.argument_kinds = kinds(first, second);
}

void HistoryBuilder::Pairing::set_result(uint32_t id, const Value& value) {
  Record& record = store.record(id);
  if (record.argument_is_pair && is_pair(value)) {
    Slot first;
    Slot second;
    if (scalar_slot(value.as_array()[0], first) && scalar_slot(value.as_array()[1], second) &&
        first == first_slot(record) && second == second_slot(record)) {
      record.result_kind = SlotKind::kArgument;
      return;
    }
  }
  const Slot slot = slot_of(value);
  record.result_kind = slot.kind;
  record.result = slot.bits;
}

uint32_t HistoryBuilder::Pairing::composite(const Value& value) {
  const auto known = composites.find(value);
  if (known != composites.end()) return *known;
  std::array<Slot, 2> parts;
  bool has_parts = false;
  if (is_pair(value) && !(value.as_array()[0].is_scalar() && value.as_array()[1].is_scalar())) {
    parts = {slot_of(value.as_array()[0]), slot_of(value.as_array()[1])};
    has_parts = true;
  }
  const auto ordinal = static_cast<uint32_t>(store.composites.size());
  store.composites.push_back(value);
  store.composite_bytes += value.heap_bytes();
  composites.insert(ordinal);
  if (has_parts) store.composite_pairs.emplace(ordinal, parts);
  return ordinal;
}

Slot HistoryBuilder::Pairing::slot_of(const Value& value) {
  Slot slot;
  if (!scalar_slot(value, slot)) slot = {SlotKind::kComposite, composite(value)};
  return slot;
}

HistoryBuilder::HistoryBuilder()
    : store_(std::make_unique<History::Store>()), pairing_(std::make_unique<Pairing>(*store_)) {}

HistoryBuilder::~HistoryBuilder() = default;

void HistoryBuilder::set_header(HistoryHeader header) { store_->header = std::move(header); }

void HistoryBuilder::set_source(std::string file) { store_->source = std::move(file); }

Result<void> HistoryBuilder::add(const Op& line) { return add(line, std::nullopt); }

Result<void> HistoryBuilder::add(const Op& line, std::optional<Place> place) {
  if (auto ordered = pairing_->check_order(line); !ordered) return ordered;
  if (line.process.is_client()) {
    if (auto added = pairing_->add_client(line); !added) return added;
  } else if (line.process == kNemesis) {
    if (auto added = pairing_->add_nemesis(line); !added) return added;
  } else {
    ASSAY_CHECK(line.process == kObserver, "process %lld", static_cast<long long>(line.process.id));
    store_->observations.push_back({pairing_->indexed(line), store_->events});
  }
  pairing_->note_index(line);
  if (place) store_->note_place(*place);
  ++store_->events;
  return {};
}

void HistoryBuilder::warn(std::string warning) { store_->warnings.push_back(std::move(warning)); }

size_t HistoryBuilder::memory_bytes() const {
  constexpr size_t kMapNode = 32;
  return store_->bytes() + store_->nemesis.capacity() * sizeof(NemesisOp) +
         store_->observations.capacity() * sizeof(Observation) +
         pairing_->composites.size() * kMapNode +
         pairing_->open_small.capacity() * sizeof(uint32_t) +
         pairing_->open_large.size() * kMapNode + pairing_->errors.size() * kMapNode;
}

History HistoryBuilder::build() {
  if (pairing_->times_back > 0)
    warn("time goes back on " + std::to_string(pairing_->times_back) +
         (pairing_->times_back == 1 ? " line, " : " lines, ") + pairing_->first_time_back);
  History history;
  std::swap(history.store_, store_);
  pairing_ = std::make_unique<Pairing>(*store_);
  return history;
}

}  // namespace assay
