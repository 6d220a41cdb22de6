#include "checkers/history/value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

#include "checkers/history/error.h"
#include "checkers/history/utf8.h"

namespace assay {
namespace {

constexpr const char* kKindNames[] = {"null",     "a bool",   "an integer", "a double",
                                      "a string", "an array", "an object"};

// Pointers to the members, in an order that is the same for equal objects.
std::vector<const std::pair<Symbol, Value>*> by_name(const Value::Object& members) {
  std::vector<const std::pair<Symbol, Value>*> sorted;
  sorted.reserve(members.size());
  for (const auto& member : members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return sorted;
}

const Value* find_member(const Value::Object& members, Symbol name) {
  for (const auto& member : members)
    if (member.first == name) return &member.second;
  return nullptr;
}

bool equal_objects(const Value::Object& a, const Value::Object& b) {
  if (a.size() != b.size()) return false;
  constexpr size_t kFew = 16;
  if (a.size() <= kFew) {
    return std::all_of(a.begin(), a.end(), [&b](const auto& member) {
      const Value* other = find_member(b, member.first);
      return other != nullptr && *other == member.second;
    });
  }
  const auto left = by_name(a);
  const auto right = by_name(b);
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](const auto* x, const auto* y) { return *x == *y; });
}

void append_int(std::string& out, int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// The shortest text that reads back as the same double, and as a double: 1.0, not 1.
void append_double(std::string& out, double number) {
  char digits[40];
  char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  const std::string_view text(digits, end - digits);
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

uint64_t combine(uint64_t hash, uint64_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

}  // namespace

Value::Value(double d) : data_(d) { ASSAY_CHECK(std::isfinite(d), "JSON has no number for %f", d); }

Value Value::array(Array items) {
  Value value;
  value.data_ = std::make_shared<const Array>(std::move(items));
  return value;
}

Value Value::object(Object members) {
  const auto sorted = by_name(members);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](auto* a, auto* b) { return a->first == b->first; });
  ASSAY_CHECK(twice == sorted.end(), "two members named \"%s\"",
              std::string((*twice)->first.text()).c_str());
  Value value;
  value.data_ = std::make_shared<const Object>(std::move(members));
  return value;
}

void Value::fail_kind(size_t wanted) const {
  ASSAY_CHECK(data_.index() == wanted, "%s was wanted, the value is %s", kKindNames[wanted],
              to_json().c_str());
  std::abort();
}

const Value& Value::operator[](std::string_view name) const {
  static const Value null;
  if (!is_object()) return null;
  for (const auto& [member, value] : as_object())
    if (member.text() == name) return value;
  return null;
}

int64_t Value::int_or(std::string_view name, int64_t fallback) const {
  const Value& member = (*this)[name];
  return member.is_int() ? member.as_int() : fallback;
}

std::string_view Value::text_or(std::string_view name, std::string_view fallback) const {
  const Value& member = (*this)[name];
  return member.is_string() ? member.as_text() : fallback;
}

bool Value::bool_or(std::string_view name, bool fallback) const {
  const Value& member = (*this)[name];
  return member.is_bool() ? member.as_bool() : fallback;
}

std::string Value::to_json() const {
  std::string out;
  append_json(out);
  return out;
}

void Value::append_json(std::string& out) const {
  switch (data_.index()) {
    case 0:
      out += "null";
      return;
    case 1:
      out += as_bool() ? "true" : "false";
      return;
    case 2:
      return append_int(out, as_int());
    case 3:
      return append_double(out, as_double());
    case 4:
      return append_json_string(out, as_text());
    case 5: {
      out += '[';
      const char* separator = "";
      for (const Value& item : as_array()) {
        out += separator;
        item.append_json(out);
        separator = ",";
      }
      out += ']';
      return;
    }
    default: {
      out += '{';
      const char* separator = "";
      for (const auto& [name, value] : as_object()) {
        out += separator;
        append_json_string(out, name.text());
        out += ':';
        value.append_json(out);
        separator = ",";
      }
      out += '}';
    }
  }
}

std::optional<int64_t> whole_number(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53: up to here a double tells integers apart
  if (!(number >= -kExact && number <= kExact) || number != std::trunc(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

bool operator==(const Value& a, const Value& b) {
  if (a.data_.index() != b.data_.index()) {
    if (a.is_double() && b.is_int()) return whole_number(a.as_double()) == b.as_int();
    if (a.is_int() && b.is_double()) return whole_number(b.as_double()) == a.as_int();
    return false;
  }
  if (a.is_array()) return &a.as_array() == &b.as_array() || a.as_array() == b.as_array();
  if (a.is_object())
    return &a.as_object() == &b.as_object() || equal_objects(a.as_object(), b.as_object());
  return a.data_ == b.data_;
}

Value Value::normalized() const {
  if (is_double()) {
    const auto whole = whole_number(as_double());
    return whole ? Value(*whole) : *this;
  }
  if (is_array()) {
    Array items;
    for (const Value& item : as_array()) items.push_back(item.normalized());
    return array(std::move(items));
  }
  if (!is_object()) return *this;
  Object members;
  for (const auto& [name, value] : as_object()) members.emplace_back(name, value.normalized());
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return a.first.text() < b.first.text(); });
  return object(std::move(members));
}

uint64_t Value::hash() const {
  const uint64_t kind = data_.index() + 1;
  switch (kind - 1) {
    case 1:
      return combine(kind, as_bool());
    case 2:
      return combine(kind, static_cast<uint64_t>(as_int()));
    case 3:
      if (const auto whole = whole_number(as_double())) return Value(*whole).hash();
      return combine(kind, std::bit_cast<uint64_t>(as_double()));
    case 4:
      return combine(kind, as_symbol().id());
    case 5: {
      uint64_t hash = kind;
      for (const Value& item : as_array()) hash = combine(hash, item.hash());
      return combine(hash, as_array().size());
    }
    case 6: {
      uint64_t sum = 0;  // of the members, whose order does not count
      for (const auto& [name, value] : as_object()) sum += combine(name.id() + 1, value.hash());
      return combine(kind, sum);
    }
    default:
      return kind;
  }
}

size_t Value::heap_bytes() const {
  constexpr size_t kBlock = 16;  // of the allocator, per block
  size_t bytes = 0;
  if (is_array()) {
    bytes = 2 * kBlock + 16 + sizeof(Array) + as_array().capacity() * sizeof(Value);
    for (const Value& item : as_array()) bytes += item.heap_bytes();
  } else if (is_object()) {
    bytes = 2 * kBlock + 16 + sizeof(Object) + as_object().capacity() * sizeof(Object::value_type);
    for (const auto& member : as_object()) bytes += member.second.heap_bytes();
  }
  return bytes;
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  size_t plain = 0;  // start of what was not yet appended
  size_t i = 0;
  while (i < text.size()) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++i;
      continue;
    }
    if (c >= 0x80) {
      if (const size_t size = utf8_sequence(text.substr(i))) {
        i += size;
        continue;
      }
    }
    out.append(text, plain, i - plain);
    plain = ++i;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c >= 0x80) {
          out += "\xef\xbf\xbd";
        } else {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        }
    }
  }
  out.append(text, plain, text.size() - plain);
  out += '"';
}

}  // namespace assay
