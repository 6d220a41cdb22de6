// Symbol: an interned string (key, node, f, error class, string value), 4 bytes.
//
// Equal text gives the same symbol for the life of the process; symbols are never freed. Any
// thread may intern and read; reading takes no lock. Order is that of first interning: never use
// it for anything that a user or a trace sees.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

namespace assay {

class Symbol {
 public:
  constexpr Symbol() = default;              // the empty string
  explicit Symbol(std::string_view text);    // interns
  std::string_view text() const;             // valid for the life of the process
  bool empty() const { return id_ == 0; }
  uint32_t id() const { return id_; }
  static Symbol from_id(uint32_t id) { Symbol s; s.id_ = id; return s; }

  friend auto operator<=>(Symbol, Symbol) = default;

 private:
  uint32_t id_ = 0;
};

// Memory that all symbols of the process take; it only grows.
uint64_t symbol_bytes();
// The same after that many more, without their texts: the tables grow by doubling.
uint64_t symbol_bytes_with(uint32_t more);

}  // namespace assay

template <>
struct std::hash<assay::Symbol> {
  size_t operator()(assay::Symbol s) const noexcept { return s.id() * 0x9e3779b97f4a7c15ull; }
};
