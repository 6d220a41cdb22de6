#include <algorithm>
#include <charconv>
#include <cmath>

#include "checkers/history/edn_parser.h"

namespace assay {
namespace {

bool only_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// digits in that base, with a sign; a string where 64 bits do not hold it.
std::optional<Value> edn_integer(bool is_negative, std::string_view digits, int base) {
  uint64_t number = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  const uint64_t most = static_cast<uint64_t>(INT64_MAX) + (is_negative ? 1 : 0);
  if (failure == std::errc() && number <= most)
    return Value(static_cast<int64_t>(is_negative ? 0 - number : number));
  std::string text(is_negative ? "-" : "");
  if (base != 10) text += std::to_string(base) + "r";
  return Value(text.append(digits));
}

// A double; a string where it would lose digits or has none to hold it.
std::optional<Value> edn_decimal(const std::string& text, bool is_exact) {
  const size_t exponent = std::min(text.find_first_of("eE"), text.size());
  std::string mantissa = text.substr(text.starts_with('-') ? 1 : 0);
  mantissa.resize(mantissa.size() - (text.size() - exponent));
  const size_t point = mantissa.find('.');
  const size_t digits = mantissa.size() - (point == mantissa.npos ? 0 : 1);
  if (point != mantissa.npos) mantissa.erase(point, 1);
  if (!only_digits(mantissa) || point == 0) return std::nullopt;
  std::string_view power = std::string_view(text).substr(exponent);
  if (!power.empty()) {
    power.remove_prefix(1);
    if (power.starts_with('+') || power.starts_with('-')) power.remove_prefix(1);
    if (!only_digits(power)) return std::nullopt;
  }
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || !std::isfinite(number) || (is_exact && digits > 15))
    return Value(text);
  return Value(number);
}

}  // namespace

std::optional<Value> edn_number(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  std::string_view digits = word;
  if (digits.ends_with('N')) digits.remove_suffix(1);
  if (only_digits(digits) && (digits == "0" || digits[0] != '0'))
    return edn_integer(is_negative, digits, 10);
  if (digits.starts_with("0x") || digits.starts_with("0X"))
    return edn_integer(is_negative, digits.substr(2), 16);
  if (only_digits(digits)) return edn_integer(is_negative, digits, 8);
  const std::string sign = is_negative ? "-" : "";
  if (const size_t slash = word.find('/'); slash != word.npos) {
    if (!only_digits(word.substr(0, slash)) || !only_digits(word.substr(slash + 1)))
      return std::nullopt;
    return Value(sign + std::string(word));
  }
  if (const size_t radix = word.find_first_of("rR"); radix == 1 || radix == 2) {
    int base = 0;
    std::from_chars(word.data(), word.data() + radix, base);
    if (base < 2 || base > 36) return std::nullopt;
    return edn_integer(is_negative, word.substr(radix + 1), base);
  }
  const bool is_exact = word.ends_with('M');
  if (is_exact) word.remove_suffix(1);
  return edn_decimal(sign + std::string(word), is_exact);
}

void sort_set(Value::Array& items) {
  // Numbers by size; texts are made once.
  std::vector<std::pair<std::string, Value>> texts;
  Value::Array numbers;
  for (Value& item : items) {
    if (item.is_int()) {
      numbers.push_back(std::move(item));
    } else {
      std::string text = item.to_json();
      texts.emplace_back(std::move(text), std::move(item));
    }
  }
  std::sort(numbers.begin(), numbers.end(),
            [](const Value& a, const Value& b) { return a.as_int() < b.as_int(); });
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  items = std::move(numbers);
  for (auto& [text, item] : texts) items.push_back(std::move(item));
}

}  // namespace assay
