// A validator for the part of JSON Schema that Assay's own files use: type, const, enum, required,
// properties, additionalProperties, items, minItems, maxItems, minimum, maximum, anyOf, $ref into $defs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/value.h"

namespace assay {

// Where a document is not as its schema says.
struct Violation {
  std::vector<std::string> path;  // member names and indexes from the root
  bool of_name = false;           // the last member's name is wrong, not its value
  std::string message;            // "expected integer, found \"x\""
};
// The first one in the schema's order. Both must be JSON that parsed; a schema that uses more than
// the part above aborts.
std::optional<Violation> find_violation(const Value& schema, const Value& document);

// Of a document parsed from `text`, against the text of a schema of ours, which aborts where it is
// not JSON: "verdict.json:3:14: word: expected …" (an input error). `file` stands for it in the
// message.
Result<void> validate(const Value& document, std::string_view schema, std::string_view text,
                      const std::string& file);

}  // namespace assay
