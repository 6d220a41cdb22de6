#include "results/schema.h"

namespace assay {

const Schema* find_schema(std::string_view name) {
  for (const Schema& schema : all_schemas()) {
    if (schema.name == name) return &schema;
  }
  return nullptr;
}

Result<void> validate_form(const Value& document, std::string_view name, std::string_view text,
                           const std::string& file) {
  const Schema* schema = find_schema(name);
  ASSAY_CHECK(schema != nullptr, "no schema %.*s", static_cast<int>(name.size()), name.data());
  return validate(document, schema->text, text, file);
}

}  // namespace assay
