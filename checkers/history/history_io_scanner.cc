#include "checkers/history/history_io_scanner.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "checkers/history/history_io_json.h"
#include "checkers/history/utf8.h"

// The parts of a few instructions, which the compiler would call a dozen times a line.
#define ASSAY_INLINE [[gnu::always_inline]] inline

namespace assay {

enum LineScanner::Field : uint32_t {
  kIndex = 1 << 0,
  kTime = 1 << 1,
  kProcess = 1 << 2,
  kType = 1 << 3,
  kF = 1 << 4,
  kKey = 1 << 5,
  kValue = 1 << 6,
  kNode = 1 << 7,
  kRevision = 1 << 8,
  kAt = 1 << 9,
  kExpected = 1 << 10,
  kError = 1 << 11,
  kScheduled = 1 << 12,
};

namespace {

constexpr size_t kMembersMost = 32;  // an object with more is for the library

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr uint64_t bytes_of(uint64_t byte) { return byte * 0x0101010101010101; }

uint64_t load64(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The upper bit of each byte that does not just stand for itself in a JSON string: a quote, a
// backslash, a control character, or a byte that is not ASCII. Only the lowest bit set is exact.
uint64_t special_bytes(uint64_t word) {
  const uint64_t quote = word ^ bytes_of('"');
  const uint64_t slash = word ^ bytes_of('\\');
  const uint64_t one = bytes_of(1);
  return (((quote - one) & ~quote) | ((slash - one) & ~slash) | (word - bytes_of(0x20)) | word) &
         bytes_of(0x80);
}

// Bits in each byte that is no digit. Only the lowest such byte is exact.
uint64_t not_digits(uint64_t word) {
  return ((word & bytes_of(0xf0)) ^ bytes_of(0x30)) |
         (((word + bytes_of(0x06)) & bytes_of(0xf0)) ^ bytes_of(0x30));
}

// The number that eight ASCII digits write, by halves: neighbours to 2, to 4, to 8 digits.
uint64_t eight_digits(uint64_t word) {
  word = (word & bytes_of(0x0f)) * ((10 << 8) + 1) >> 8;
  word = (word & 0x00ff00ff00ff00ff) * ((100 << 16) + 1) >> 16;
  return (word & 0x0000ffff0000ffff) * ((uint64_t{10'000} << 32) + 1) >> 32;
}

// An Op as new, without the cost of building one.
void clear(Op& op) {
  op.index = -1;
  op.time = {-1};
  op.process = {};
  op.type = OpType::kInvoke;
  op.f = {};
  op.key = {};
  if (!op.value.is_null()) op.value = {};
  op.node = {};
  op.revision = {};
  op.at = {};
  op.expected = {};
  op.error.reset();
  op.scheduled = {-1};
  if (!op.extra.is_null()) op.extra = {};
}

// Adds a member, unless one of that name is there or there are too many to look.
bool add_member(Value::Object& members, Symbol name, Value value) {
  if (members.size() == kMembersMost) return false;
  for (const auto& member : members)
    if (member.first == name) return false;
  members.emplace_back(name, std::move(value));
  return true;
}

}  // namespace

ASSAY_INLINE bool LineScanner::eat(char c) {
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

// The next eight bytes; zeros after the end of the line. Not at the end.
ASSAY_INLINE uint64_t LineScanner::next8() const {
  const auto left = end_ - at_;
  return left >= 8 ? load64(at_) : load64(end_ - 8) >> (8 * (8 - left));
}

ASSAY_INLINE void LineScanner::spaces() {
  while (at_ != end_ && *at_ == ' ') ++at_;
}

ASSAY_INLINE bool LineScanner::colon() {
  spaces();
  if (!eat(':')) return false;
  spaces();
  return true;
}

template <size_t kSize>
ASSAY_INLINE bool LineScanner::literal(const char (&word)[kSize]) {
  constexpr size_t kLength = kSize - 1;
  if (static_cast<size_t>(end_ - at_) < kLength) return false;
  if (std::memcmp(at_, word, kLength) != 0) return false;
  at_ += kLength;
  return true;
}

// A field's name, its colon included.
template <size_t kSize>
ASSAY_INLINE bool LineScanner::name(const char (&word)[kSize]) {
  const char* start = at_;
  if (!literal(word)) return false;
  if (end_ - at_ >= 2 && at_[0] == ':' && at_[1] != ' ') {
    ++at_;
    return true;
  }
  if (colon()) return true;
  at_ = start;  // nobody may go on after half a field
  return false;
}

ASSAY_INLINE bool LineScanner::once(Field field) {
  if ((seen_ & field) != 0) return false;
  seen_ |= field;
  return true;
}

bool LineScanner::scan(std::string_view line, Op& op) {
  if (line.size() < 8) return false;  // next8() looks back
  at_ = line.data();
  end_ = at_ + line.size();
  seen_ = 0;
  extra_.clear();
  clear(op);
  if (!eat('{')) return false;
  do {
    if (!field(op)) return false;
  } while (eat(','));
  if (!eat('}')) return false;
  spaces();
  constexpr uint32_t kRequired = kProcess | kType | kF;
  if (at_ != end_ || (seen_ & kRequired) != kRequired) return false;
  if (!extra_.empty()) op.extra = Value::object(extra_);
  return true;
}

// One "name":value.
bool LineScanner::field(Op& op) {
  spaces();
  bool taken = false;
  if (!known_field(op, taken)) return false;
  if (!taken && !other_field()) return false;
  spaces();
  return true;
}

// taken: the field is one of those that have a place in an Op.
ASSAY_INLINE bool LineScanner::known_field(Op& op, bool& taken) {
  if (end_ - at_ < 2) return false;
  taken = true;
  switch (at_[1]) {
    case 'i':
      if (name("\"index\"")) return once(kIndex) && not_negative(op.index);
      break;
    case 't':
      if (name("\"time\"")) return once(kTime) && not_negative(op.time.count);
      if (name("\"type\"")) return once(kType) && type(op.type);
      break;
    case 'p':
      if (name("\"process\"")) return once(kProcess) && process(op.process);
      break;
    case 'f':
      if (name("\"f\"")) return once(kF) && symbol(op.f) && !op.f.empty();
      break;
    case 'k':
      if (name("\"key\"")) return once(kKey) && key(op.key);
      break;
    case 'v':
      if (name("\"value\"")) return once(kValue) && value(op.value, 1);
      break;
    case 'n':
      if (name("\"node\"")) return once(kNode) && symbol(op.node);
      break;
    case 'r':
      if (name("\"revision\"")) return once(kRevision) && token(op.revision);
      break;
    case 'a':
      if (name("\"at\"")) return once(kAt) && token(op.at);
      break;
    case 'e':
      if (name("\"error\"")) return once(kError) && error(op.error.emplace());
      if (name("\"expected\"")) return once(kExpected) && token(op.expected);
      break;
    case 's':
      if (name("\"scheduled\"")) return once(kScheduled) && not_negative(op.scheduled.count);
      break;
    default:
      break;
  }
  taken = false;
  return true;
}

bool LineScanner::other_field() {
  std::string_view name;
  if (!text(name)) return false;
  Value extra;
  return colon() && value(extra, 1) && add_member(extra_, Symbol(name), std::move(extra));
}

// Only {"class":…,"text":…,"current":…} in this order, of which the last two may be missing.
bool LineScanner::error(OpError& error) {
  if (!literal("{\"class\":")) return false;
  if (!symbol(error.cls)) return false;
  std::string_view words;
  if (literal(",\"text\":")) {
    if (!text(words)) return false;
    error.text = words;
  }
  if (literal(",\"current\":") && !token(error.current)) return false;
  return eat('}');
}

bool LineScanner::process(Process& process) {
  if (at_ == end_ || *at_ != '"') return not_negative(process.id);
  if (literal("\"nemesis\"")) {
    process = kNemesis;
    return true;
  }
  process = kObserver;
  return literal("\"observer\"");
}

bool LineScanner::type(OpType& type) {
  if (literal("\"invoke\"")) {
    type = OpType::kInvoke;
  } else if (literal("\"ok\"")) {
    type = OpType::kOk;
  } else if (literal("\"fail\"")) {
    type = OpType::kFail;
  } else if (literal("\"info\"")) {
    type = OpType::kInfo;
  } else {
    return false;
  }
  return true;
}

bool LineScanner::key(Symbol& key) {
  if (at_ != end_ && *at_ == '"') return symbol(key);
  const char* start = at_;
  int64_t number;
  if (!integer(number)) return false;
  key = Symbol(std::string_view(start, at_ - start));
  return true;
}

bool LineScanner::token(Token& token) {
  if (at_ != end_ && *at_ == '"') {
    Symbol text;
    if (!symbol(text)) return false;
    token = Token(text);
    return true;
  }
  int64_t number;
  if (!integer(number)) return false;
  token = Token(number);
  return true;
}

// The inside of a string without escapes.
bool LineScanner::text(std::string_view& text) {
  if (!eat('"')) return false;
  const char* start = at_;
  while (at_ != end_) {
    const int plain = std::countr_zero(special_bytes(next8())) / 8;
    at_ += plain;
    if (plain == 8) continue;
    if (at_ == end_) return false;
    const auto c = static_cast<unsigned char>(*at_);
    if (c == '"') {
      text = {start, static_cast<size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (c < 0x20 || c == '\\') return false;
    size_t size = 1;
    if (c >= 0x80) {
      size = utf8_sequence({at_, static_cast<size_t>(end_ - at_)});
      if (size == 0) return false;
    }
    at_ += size;
  }
  return false;
}

// Most symbols of a history are short and came before: those are not even looked up.
bool LineScanner::symbol(Symbol& symbol) {
  const char* start = at_ + 1;
  if (!eat('"') || at_ == end_) return false;
  const uint64_t word = next8();
  const int size = std::countr_zero(special_bytes(word)) / 8;
  if (size < 8 && (word >> (8 * size) & 0xff) == '"') {
    const uint64_t text = word & ((uint64_t{1} << (8 * size)) - 1);  // holds no zero byte
    Known& known = known_[text * 0x9e3779b97f4a7c15 >> (64 - kKnownBits)];
    if (known.word != text)
      known = {text, Symbol(std::string_view(start, static_cast<size_t>(size)))};
    symbol = known.symbol;
    at_ += size + 1;
    return true;
  }
  --at_;
  std::string_view name;
  if (!text(name)) return false;
  symbol = Symbol(name);
  return true;
}

bool LineScanner::not_negative(int64_t& number) {
  return at_ != end_ && *at_ != '-' && integer(number);
}

// An integer of at most 18 digits, which is not the start of a double.
bool LineScanner::integer(int64_t& number) {
  const bool negative = eat('-');
  const char* start = at_;
  uint64_t n = 0;  // may wrap: then there are too many digits
  int count = 8;
  while (count == 8 && at_ != end_) {
    static constexpr uint64_t kTens[] = {1,      10,      100,        1'000,      10'000,
                                         100'000, 1'000'000, 10'000'000, 100'000'000};
    const uint64_t word = next8();
    count = std::countr_zero(not_digits(word)) / 8;
    if (count == 0) break;
    n = n * kTens[count] + eight_digits(word << (8 * (8 - count)));
    at_ += count;
  }
  const auto digits = at_ - start;
  if (digits == 0 || digits > 18 || at_ == end_) return false;
  if (*start == '0' && (digits > 1 || negative)) return false;
  if (*at_ == '.' || *at_ == 'e' || *at_ == 'E') return false;
  number = negative ? -static_cast<int64_t>(n) : static_cast<int64_t>(n);
  return true;
}

// An integer, or a double in JSON's grammar.
bool LineScanner::number(Value& value) {
  const char* start = at_;
  int64_t whole;
  if (integer(whole)) {
    std::construct_at(&value, whole);  // it is null, which needs no end
    return true;
  }
  const auto digits = [this] {
    const char* from = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ - from;
  };
  at_ = start;
  eat('-');
  const bool zero = at_ != end_ && *at_ == '0';
  const auto before_point = digits();
  if (before_point == 0 || (zero && before_point > 1)) return false;
  bool is_double = false;
  if (eat('.')) {
    is_double = true;
    if (digits() == 0) return false;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    is_double = true;
    ++at_;
    if (!eat('-')) eat('+');
    if (digits() == 0) return false;
  }
  double number;
  const auto [end, failure] = std::from_chars(start, at_, number);
  if (!is_double || failure != std::errc() || end != at_ || !std::isfinite(number)) return false;
  value = number;
  return true;
}

// value must be null. The depth counts the arrays and objects around it, as the library's reader does.
bool LineScanner::value(Value& value, size_t depth) {
  if (at_ == end_) return false;
  switch (*at_) {
    case '"': {
      Symbol text;
      if (!symbol(text)) return false;
      std::construct_at(&value, text);
      return true;
    }
    case '[':
      return array(value, depth);
    case '{':
      return object(value, depth);
    case 'n':
      value = Value();
      return literal("null");
    case 't':
      value = true;
      return literal("true");
    case 'f':
      value = false;
      return literal("false");
    default:
      return number(value);
  }
}

bool LineScanner::array(Value& value, size_t depth) {
  if (depth == kDepthMax) return false;
  ++at_;
  Value::Array items;
  spaces();
  if (!eat(']')) {
    items.reserve(2);  // most are the [a,b] of a cas
    do {
      spaces();
      if (!this->value(items.emplace_back(), depth + 1)) return false;
      spaces();
    } while (eat(','));
    if (!eat(']')) return false;
  }
  value = Value::array(std::move(items));
  return true;
}

bool LineScanner::object(Value& value, size_t depth) {
  if (depth == kDepthMax) return false;
  ++at_;
  Value::Object members;
  spaces();
  if (!eat('}')) {
    do {
      spaces();
      std::string_view name;
      if (!text(name)) return false;
      Value member;
      if (!colon() || !this->value(member, depth + 1)) return false;
      if (!add_member(members, Symbol(name), std::move(member))) return false;
      spaces();
    } while (eat(','));
    if (!eat('}')) return false;
  }
  value = Value::object(std::move(members));
  return true;
}

}  // namespace assay
