// Small helpers for the sentences of verdicts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// "12,345".
inline std::string grouped(int64_t n) {
  std::string digits = std::to_string(n);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

// "1 key", "2 keys".
inline std::string counted(size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

// Why a history is linearizable.
inline std::string one_order_sentence(size_t operations, size_t keys) {
  if (keys != 1) {
    return "the operations of each of " + std::to_string(keys) +
           " keys fit one order that respects real time";
  }
  return operations == 1 ? "the one operation fits"
                         : "all " + std::to_string(operations) +
                               " operations fit one order that respects real time";
}

// "a, b and c".
inline std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

}  // namespace assay
