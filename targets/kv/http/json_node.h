// JsonNode: a JSON text as a tree, close to how it was written: what is a whole number and what
// only looks like one stay apart, and members keep their order and their duplicates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::kv {

struct JsonNode {
  enum class Kind : uint8_t {
    kNull,
    kBool,
    kInteger,  // written without point and exponent, and fits 64 bits with sign
    kNumber,   // any other number
    kString,
    kArray,
    kObject,
  };

  Kind kind = Kind::kNull;
  bool truth = false;
  int64_t integer = 0;
  std::string text;  // of a string; of a number that is no integer, as it was written
  std::string name;  // of a member
  std::vector<JsonNode> children;

  // The last member of that name; nullptr when there is none, or this is no object.
  const JsonNode* find(std::string_view member) const;
};

inline constexpr int kJsonDepthMax = 128;

struct BadJson {
  std::string message;  // "invalid JSON at byte 12"
};

// The first value of the text; what follows it is not looked at, as gRPC's gateway does not. An
// empty text is null.
std::variant<JsonNode, BadJson> parse_json(std::string_view text);

}  // namespace assay::kv
