// One line of JSON to a Value with the JSON library, strictly: what the library lets pass (two
// members of one name, numbers that lose digits, any depth, NUL as an end) is an error too, and
// every error knows its column. Private to history_io*.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/value.h"

namespace assay {

inline constexpr size_t kDepthMax = 128;  // of arrays and objects in each other

struct JsonError {
  size_t column = 0;  // in bytes, from 1
  std::string expected;
  std::string found;
  bool at_end = false;  // the text ended where more was expected: it may be cut off

  std::string message() const { return "expected " + expected + ", found " + found; }
};

// Where the values of members start, for the outermost object and the objects in it.
struct JsonColumns {
  struct Member {
    Symbol parent;  // empty: of the outermost object
    Symbol name;
    size_t column;
  };
  std::vector<Member> members;

  size_t of(std::string_view parent, std::string_view name) const;  // 1 when there is none
};

// Parses the whole text into value. columns may be null.
std::optional<JsonError> parse_json(std::string_view text, Value& value, JsonColumns* columns);

}  // namespace assay
