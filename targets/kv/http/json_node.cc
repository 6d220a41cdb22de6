#include "targets/kv/http/json_node.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace assay::kv {
namespace {

using Kind = JsonNode::Kind;

// The library's parser calls this for each thing that it meets; false ends the parsing.
class TreeBuilder {
 public:
  JsonNode root;
  std::string error;

  bool null() { return place(Kind::kNull) != nullptr; }
  bool boolean(bool truth) {
    place(Kind::kBool)->truth = truth;
    return true;
  }
  bool number_integer(int64_t number) {
    place(Kind::kInteger)->integer = number;
    return true;
  }
  bool number_unsigned(uint64_t number) {
    if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return number_integer(static_cast<int64_t>(number));
    }
    place(Kind::kNumber)->text = std::to_string(number);
    return true;
  }
  bool number_float(double, const std::string& text) {
    place(Kind::kNumber)->text = text;
    return true;
  }
  bool string(std::string& text) {
    place(Kind::kString)->text = std::move(text);
    return true;
  }
  bool binary(std::vector<uint8_t>&) { return false; }  // not in JSON
  bool key(std::string& name) {
    name_ = std::move(name);
    return true;
  }
  bool start_object(size_t) { return open(Kind::kObject); }
  bool start_array(size_t) { return open(Kind::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    error = "invalid JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  // Pointers into the tree stay good: only the innermost open container gains children.
  JsonNode* place(Kind kind) {
    JsonNode* node = &root;
    if (!open_.empty()) {
      node = &open_.back()->children.emplace_back();
      if (open_.back()->kind == Kind::kObject) node->name = std::move(name_);
    }
    node->kind = kind;
    return node;
  }
  bool open(Kind kind) {
    if (open_.size() == kJsonDepthMax) {
      error = "JSON is nested more than " + std::to_string(kJsonDepthMax) + " levels deep";
      return false;
    }
    open_.push_back(place(kind));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<JsonNode*> open_;
  std::string name_;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view member) const {
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    if (kind == Kind::kObject && child->name == member) return &*child;
  }
  return nullptr;
}

std::variant<JsonNode, BadJson> parse_json(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return JsonNode{};
  TreeBuilder builder;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                                               nlohmann::json::input_format_t::json, false);
  if (!whole) return BadJson{std::move(builder.error)};
  return std::move(builder.root);
}

}  // namespace assay::kv
