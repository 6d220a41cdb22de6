// Value: what an operation carries, in JSON's data model. Immutable, cheap to copy, any thread.
//
// Equality is exact and typed, as a checker needs it: 1, "1" and true are three values. Numbers are
// JSON's, which has one kind of them: 1.0 is 1, whatever a store's client library makes of it.
// Absent is null. Objects keep the order in which their members were written, but compare equal
// in any order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "checkers/history/symbol.h"

namespace assay {

class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<Symbol, Value>>;

  Value() = default;                                       // null
  Value(std::nullptr_t) {}                                 // NOLINT: implicit on purpose
  Value(bool b) : data_(b) {}                              // NOLINT
  Value(int i) : data_(int64_t{i}) {}                      // NOLINT
  Value(int64_t i) : data_(i) {}                           // NOLINT
  Value(double d);                                         // NOLINT: finite, else it aborts
  Value(Symbol s) : data_(s) {}                            // NOLINT
  Value(const char* text) : data_(Symbol(text)) {}         // NOLINT
  Value(std::string_view text) : data_(Symbol(text)) {}    // NOLINT
  Value(const std::string& text) : data_(Symbol(text)) {}  // NOLINT
  static Value array(Array items);
  static Value object(Object members);  // aborts when two members have one name
  static Value pair(Value a, Value b) { return array({std::move(a), std::move(b)}); }

  bool is_null() const { return data_.index() == 0; }
  bool is_bool() const { return data_.index() == 1; }
  bool is_int() const { return data_.index() == 2; }
  bool is_double() const { return data_.index() == 3; }
  bool is_string() const { return data_.index() == 4; }
  bool is_array() const { return data_.index() == 5; }
  bool is_object() const { return data_.index() == 6; }
  bool is_scalar() const { return data_.index() < 5; }

  // Each aborts when the value is of another kind.
  bool as_bool() const { return held<1>(data_); }
  int64_t as_int() const { return held<2>(data_); }
  double as_double() const { return held<3>(data_); }
  Symbol as_symbol() const { return held<4>(data_); }
  std::string_view as_text() const { return as_symbol().text(); }
  const Array& as_array() const { return *held<5>(data_); }
  const Object& as_object() const { return *held<6>(data_); }

  // Of an object: the member of that name, or null (the value) when there is none or when this is
  // not an object.
  const Value& operator[](std::string_view name) const;
  // The same with a fallback for absent members and members of another kind.
  int64_t int_or(std::string_view name, int64_t fallback) const;
  std::string_view text_or(std::string_view name, std::string_view fallback) const;
  bool bool_or(std::string_view name, bool fallback) const;

  std::string to_json() const;  // compact, one line; parsing it gives an equal Value
  void append_json(std::string& out) const;

  // As an equal Value whose JSON is that of all that are equal to it: whole numbers without a point,
  // members in order of their names.
  Value normalized() const;
  // Doubles are compared as numbers: 0.0 equals -0.0.
  friend bool operator==(const Value& a, const Value& b);
  uint64_t hash() const;      // equal Values have equal hashes; the same in no two processes
  size_t heap_bytes() const;  // of an array or an object: what it holds, roughly; else 0

 private:
  template <size_t kKind, typename Data>
  const std::variant_alternative_t<kKind, Data>& held(const Data& data) const {
    if (data.index() != kKind) fail_kind(kKind);
    return *std::get_if<kKind>(&data);
  }
  [[noreturn]] void fail_kind(size_t wanted) const;

  std::variant<std::monostate, bool, int64_t, double, Symbol, std::shared_ptr<const Array>,
               std::shared_ptr<const Object>>
      data_;
};

// Appends text as a JSON string, with its quotes, to out. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// The integer that this number is, where it is one and a double is exact.
std::optional<int64_t> whole_number(double number);

}  // namespace assay
