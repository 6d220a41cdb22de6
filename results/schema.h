// The forms of the files that Assay writes and reads, as JSON Schemas (`assay schema NAME`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkers/history/json_schema.h"

namespace assay {

struct Schema {
  std::string_view name;     // "verdict"
  std::string_view summary;  // one line
  std::string_view text;     // the schema, indented JSON
};

// In the order to list: spec, verdict, proof, index, history-header, history-line.
const std::vector<Schema>& all_schemas();
const Schema* find_schema(std::string_view name);  // nullptr when there is none

// validate() of json_schema.h by a schema's name.
Result<void> validate_form(const Value& document, std::string_view schema, std::string_view text,
                           const std::string& file);

}  // namespace assay
