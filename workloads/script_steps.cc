#include "workloads/script_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "checkers/history/time.h"
#include "checkers/history/vocabulary.h"

namespace assay {
namespace {

enum class Argument : uint8_t { kNone, kAny, kPair, kList, kObject };

struct ClientWord {
  std::string_view f;
  bool needs_key;
  Argument argument;
  bool may_be_guarded;
};
constexpr ClientWord kClientWords[] = {
    {"read", true, Argument::kNone, false}, {"write", true, Argument::kAny, true},
    {"cas", true, Argument::kPair, true},   {"delete", true, Argument::kNone, true},
    {"add", true, Argument::kAny, false},   {"append", true, Argument::kAny, false},
    {"txn", false, Argument::kList, false}, {"watch", false, Argument::kObject, false},
    {"list", true, Argument::kNone, false}, {"compact", false, Argument::kAny, false},
};

// As operations they are the starts and stops of vocabulary.h, so that checkers see the faults.
struct NemesisWord {
  std::string_view word;
  std::string_view kind;
  bool starts;
  std::array<std::string_view, 2> nodes;  // the members that name nodes
};
constexpr NemesisWord kNemesisWords[] = {
    {"cut", "partition", true, {"from", "to"}}, {"heal", "partition", false, {}},
    {"split", "partition", true, {}},
    {"kill", "kill", true, {"node"}},           {"start", "kill", false, {"node"}},
    {"pause", "pause", true, {"node"}},         {"resume", "pause", false, {"node"}},
    {"delay", "delay", true, {"from", "to"}},   {"undelay", "delay", false, {}},
};

constexpr Nanos kDelayMax = seconds(60);

constexpr std::string_view kWaits[] = {"converged", "leader", "blocked", "answers"};
constexpr std::string_view kWaitFor = "10s";  // where the step does not say

struct FieldWord {
  std::string_view word;
  AnswerField field;
};
constexpr FieldWord kFields[] = {{"value", AnswerField::kValue},
                                 {"revision", AnswerField::kRevision},
                                 {"at", AnswerField::kAt},
                                 {"current", AnswerField::kCurrent}};

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

template <typename Range, typename Name>
std::string listed(const Range& range, Name name) {
  std::string out;
  for (const auto& item : range) {
    if (!out.empty()) out += ", ";
    out += name(item);
  }
  return out;
}

bool refers(std::string_view text) { return text.starts_with("$") && !text.starts_with("$$"); }

// "$a.value" into "a" and "value"; empty when it is not of that form.
std::pair<std::string_view, std::string_view> split(std::string_view reference) {
  const size_t dot = reference.rfind('.');
  if (dot == std::string_view::npos) return {};
  return {reference.substr(1, dot - 1), reference.substr(dot + 1)};
}

const FieldWord* find_field(std::string_view word) {
  const auto* found = std::find_if(std::begin(kFields), std::end(kFields),
                                   [&](const FieldWord& field) { return field.word == word; });
  return found == std::end(kFields) ? nullptr : found;
}

}  // namespace

class ScriptParser {
 public:
  explicit ScriptParser(const std::vector<std::string>& nodes) : nodes_(nodes) {}

  Result<Script> parse(const Value& steps) {
    if (!steps.is_array() || steps.as_array().empty()) {
      return input_error("script: expected a list of steps, found " +
                         (steps.is_array() ? "an empty one" : steps.to_json()));
    }
    for (const Value& item : steps.as_array()) {
      if (auto read = parse_step(item); !read) {
        return input_error("script step " + std::to_string(script_.steps_.size() + 1) + ": " +
                           read.error().message);
      }
      script_.steps_.push_back(std::move(step_));
    }
    return std::move(script_);
  }

 private:
  Result<void> parse_step(const Value& item) {
    step_ = {};
    item_ = &item;
    if (!item.is_object()) return input_error("expected an object, found " + item.to_json());
    const bool client = has("f");
    if (client + has("nemesis") + has("wait") != 1) {
      return input_error(R"(expected one of "f", "nemesis" and "wait" in )" + item.to_json());
    }
    if (has("async")) {
      if (!item["async"].is_bool()) return wrong("async", "true or false");
      step_.async = item["async"].as_bool();
    }
    if (client) return client_step();
    return has("nemesis") ? nemesis_step() : wait_step();
  }

  Result<void> client_step() {
    step_.kind = ScriptStep::Kind::kClient;
    const auto* word = find_word(kClientWords, "f", [](const ClientWord& w) { return w.f; });
    if (!word) return unknown_word("f", kClientWords, [](const ClientWord& w) { return w.f; });
    step_.op.f = Symbol(word->f);
    if (auto known = only({"on", "f", "key", "value", "expected", "as", "async", "until_ok"});
        !known) {
      return known;
    }
    if (has("until_ok")) {
      auto span = read_span("until_ok", {});
      if (!span) return span.error();
      step_.until_ok = *span;
    }
    if (auto on = read_node("on"); !on) return on.error();
    step_.node = index_of((*item_)["on"].as_text());
    if (auto key = read_key(*word); !key) return key;
    if (auto value = read_value(*word); !value) return value;
    if (auto expected = read_expected(*word); !expected) return expected;
    return read_name();
  }

  Result<void> read_key(const ClientWord& word) {
    if (!has("key")) {
      if (word.needs_key) return missing("key");
      return {};
    }
    const Value& key = (*item_)["key"];
    if (!key.is_string() || key.as_symbol().empty()) return wrong("key", "a text");
    step_.op.key = key.as_symbol();
    return {};
  }

  Result<void> read_value(const ClientWord& word) {
    const Value& value = (*item_)["value"];
    switch (word.argument) {
      case Argument::kNone:
        if (has("value")) return input_error("a " + std::string(word.f) + " takes no \"value\"");
        return {};
      case Argument::kAny:
        if (value.is_null()) return missing("value");
        break;
      case Argument::kPair:
        if (!has("value")) return missing("value");
        if (!value.is_array() || value.as_array().size() != 2) {
          return wrong("value", "[the value before, the value after]");
        }
        break;
      case Argument::kList:
        if (!has("value")) return missing("value");
        if (!value.is_array()) return wrong("value", "a list");
        break;
      case Argument::kObject:
        if (!has("value")) return missing("value");
        if (!value.is_object()) return wrong("value", "an object");
        break;
    }
    step_.op.value = value;
    return note_refs(value);
  }

  Result<void> read_expected(const ClientWord& word) {
    if (!has("expected")) return {};
    if (!word.may_be_guarded) {
      return input_error("a " + std::string(word.f) + " takes no \"expected\"");
    }
    const Value& expected = (*item_)["expected"];
    if (expected.is_int()) {
      step_.op.expected = Token(expected.as_int());
      return {};
    }
    if (!expected.is_string() || expected.as_symbol().empty()) {
      return wrong("expected", R"(a token: an integer, a text or "$name.revision")");
    }
    const std::string_view text = expected.as_text();
    if (!refers(text)) {
      step_.op.expected = Token(Symbol(text.starts_with("$$") ? text.substr(1) : text));
      return {};
    }
    if (auto noted = note_ref(text); !noted) return noted;
    step_.expected = script_.find_ref(text);
    if (step_.expected->field == AnswerField::kValue) {
      return input_error(R"("expected" takes a token, and )" + quoted(text) + " is a value");
    }
    return {};
  }

  Result<void> read_name() {
    if (!has("as")) return {};
    const Value& name = (*item_)["as"];
    const bool plain = name.is_string() && !name.as_symbol().empty() &&
                       name.as_text().find_first_of("$.") == std::string_view::npos;
    if (!plain) return wrong("as", "a name without \"$\" and \".\"");
    for (size_t i = 0; i < script_.steps_.size(); ++i) {
      if (script_.steps_[i].name == name.as_symbol()) {
        return input_error("the name " + quoted(name.as_text()) + " is that of step " +
                           std::to_string(i + 1));
      }
    }
    step_.name = name.as_symbol();
    step_.op.extra = Value::object({{Symbol("step"), name}});
    return {};
  }

  Result<void> nemesis_step() {
    step_.kind = ScriptStep::Kind::kNemesis;
    const auto* word =
        find_word(kNemesisWords, "nemesis", [](const NemesisWord& w) { return w.word; });
    if (!word) {
      return unknown_word("nemesis", kNemesisWords, [](const NemesisWord& w) { return w.word; });
    }
    step_.op.process = kNemesis;
    step_.op.f = word->starts ? start_of(word->kind) : stop_of(word->kind);
    std::vector<std::string_view> members = {"nemesis"};
    for (std::string_view member : word->nodes) {
      if (!member.empty()) members.push_back(member);
    }
    const std::vector<std::string_view> nodes(members.begin() + 1, members.end());
    const bool splits = word->word == "split";
    if (splits) members.push_back("sides");
    members.push_back("async");
    const bool delays = word->starts && word->kind == "delay";
    if (delays) members.insert(members.end(), {"by", "jitter", "reorder", "duplicate"});
    if (auto known = only(members); !known) return known;
    if (splits) return read_sides();
    if (auto kept = keep_nodes(nodes); !kept) return kept;
    if (has("from") && (*item_)["from"] == (*item_)["to"]) {
      return input_error("a " + std::string(word->word) + " is between two nodes, and both are " +
                         (*item_)["to"].to_json());
    }
    return delays ? read_delay() : Result<void>();
  }

  Result<void> read_delay() {
    if (!has("by")) return missing("by");
    for (std::string_view name : {"by", "jitter"}) {
      if (!has(name)) continue;
      const Value& given = (*item_)[name];
      const auto span = given.is_string() ? parse_duration(given.as_text()) : input_error("");
      if (!span || *span < Nanos{} || *span > kDelayMax)
        return wrong(name, "a span of time such as \"300ms\", at most " + format_duration(kDelayMax));
    }
    if (has("reorder") && !(*item_)["reorder"].is_bool()) return wrong("reorder", "true or false");
    const Value& percent = (*item_)["duplicate"];
    if (has("duplicate") &&
        (!percent.is_int() || percent.as_int() < 0 || percent.as_int() > 100))
      return wrong("duplicate", "a whole number from 0 to 100");
    Value::Object kept = step_.op.value.as_object();
    for (std::string_view name : {"by", "jitter", "reorder", "duplicate"}) {
      if (has(name)) kept.emplace_back(Symbol(name), (*item_)[name]);
    }
    step_.op.value = Value::object(std::move(kept));
    return {};
  }

  Result<void> read_sides() {
    const Value& sides = (*item_)["sides"];
    if (!sides.is_array() || sides.as_array().size() < 2) return wrong("sides", "lists of nodes");
    std::vector<bool> named(nodes_.size());
    for (const Value& side : sides.as_array()) {
      if (!side.is_array() || side.as_array().empty()) return wrong("sides", "lists of nodes");
      for (const Value& node : side.as_array()) {
        const int index = node.is_string() ? index_of(node.as_text()) : -1;
        if (index < 0) return unknown_node(node, "sides");
        if (named[index])
          return input_error("the node " + node.to_json() + " is on two of the \"sides\"");
        named[index] = true;
      }
    }
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!named[i]) return input_error("the node " + quoted(nodes_[i]) + " is on none of the \"sides\"");
    step_.op.value = Value::object({{Symbol("sides"), sides}});
    return {};
  }

  Result<void> wait_step() {
    step_.kind = ScriptStep::Kind::kWait;
    step_.op.process = kNemesis;
    step_.op.f = Symbol("wait");
    if (auto known = only({"wait", "for", "async"}); !known) return known;
    const auto* word = find_word(kWaits, "wait", [](std::string_view w) { return w; });
    if (!word) return unknown_word("wait", kWaits, [](std::string_view w) { return w; });
    if (*word == "answers") {
      step_.kind = ScriptStep::Kind::kAnswers;
      return only({"wait"});
    }
    const Value span = has("for") ? (*item_)["for"] : Value(kWaitFor);
    if (auto read = read_span("for", span); !read) return read.error();
    step_.op.value = Value::object({{Symbol("wait"), (*item_)["wait"]}, {Symbol("for"), span}});
    return {};
  }

  Result<Nanos> read_span(std::string_view member, const Value& otherwise) const {
    const Value& span = has(member) ? (*item_)[member] : otherwise;
    if (!span.is_string()) return wrong(member, "a span of time such as \"5s\"");
    auto parsed = parse_duration(span.as_text());
    if (!parsed) return input_error(quoted(member) + ": " + parsed.error().message);
    return *parsed;
  }

  // Members that name nodes, into the operation's value.
  Result<void> keep_nodes(const std::vector<std::string_view>& members) {
    Value::Object kept;
    for (std::string_view member : members) {
      if (auto node = read_node(member); !node) return node;
      kept.emplace_back(Symbol(member), (*item_)[member]);
    }
    if (!kept.empty()) step_.op.value = Value::object(std::move(kept));
    return {};
  }

  Result<void> read_node(std::string_view member) {
    if (!has(member)) return missing(member);
    const Value& node = (*item_)[member];
    if (node.is_string() && index_of(node.as_text()) >= 0) return {};
    return unknown_node(node, member);
  }
  Error unknown_node(const Value& node, std::string_view member) const {
    return input_error("unknown node " + node.to_json() + " in " + quoted(member) +
                       ": expected one of " +
                       listed(nodes_, [](const std::string& name) { return name; }));
  }

  int index_of(std::string_view node) const {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node);
    return found == nodes_.end() ? -1 : static_cast<int>(found - nodes_.begin());
  }

  // References anywhere in a value.
  Result<void> note_refs(const Value& value) {
    if (value.is_string() && refers(value.as_text())) return note_ref(value.as_text());
    if (value.is_array()) {
      for (const Value& item : value.as_array()) {
        if (auto noted = note_refs(item); !noted) return noted;
      }
    }
    if (value.is_object()) {
      for (const auto& [name, member] : value.as_object()) {
        if (auto noted = note_refs(member); !noted) return noted;
      }
    }
    return {};
  }

  Result<void> note_ref(std::string_view text) {
    const auto [name, field] = split(text);
    if (name.empty() || !find_field(field)) {
      return input_error(
          quoted(text) + " is no reference: expected " +
          listed(kFields, [](const FieldWord& f) { return "$name." + std::string(f.word); }) +
          " (a text that begins with \"$\" itself is written with \"$$\")");
    }
    const auto ref = script_.find_ref(text);
    if (!ref) {
      return input_error("unknown name in " + quoted(text) +
                         ": no earlier step says \"as\": " + quoted(name));
    }
    step_.needs.push_back(ref->step);
    return {};
  }

  bool has(std::string_view name) const {
    return std::any_of(item_->as_object().begin(), item_->as_object().end(),
                       [&](const auto& member) { return member.first.text() == name; });
  }

  Result<void> only(const std::vector<std::string_view>& allowed) const {
    for (const auto& [name, value] : item_->as_object()) {
      if (std::find(allowed.begin(), allowed.end(), name.text()) == allowed.end()) {
        return input_error("unknown member " + quoted(name.text()) + ": expected one of " +
                           listed(allowed, [](std::string_view n) { return std::string(n); }));
      }
    }
    return {};
  }

  template <typename Word, size_t kCount, typename Name>
  const Word* find_word(const Word (&words)[kCount], std::string_view member, Name name) const {
    const Value& value = (*item_)[member];
    for (const Word& word : words) {
      if (value.is_string() && value.as_text() == name(word)) return &word;
    }
    return nullptr;
  }

  template <typename Word, size_t kCount, typename Name>
  Error unknown_word(std::string_view member, const Word (&words)[kCount], Name name) const {
    return input_error("unknown " + std::string(member) + " " + (*item_)[member].to_json() +
                       ": expected one of " +
                       listed(words, [&](const Word& word) { return std::string(name(word)); }));
  }

  static Error missing(std::string_view member) { return input_error("missing " + quoted(member)); }
  Error wrong(std::string_view member, std::string_view expected) const {
    return input_error(quoted(member) + ": expected " + std::string(expected) + ", found " +
                       (*item_)[member].to_json());
  }

  const std::vector<std::string>& nodes_;
  Script script_;
  ScriptStep step_;
  const Value* item_ = nullptr;  // the step being read
};

Result<Script> Script::parse(const Value& steps, const std::vector<std::string>& nodes) {
  return ScriptParser(nodes).parse(steps);
}

std::optional<AnswerRef> Script::find_ref(std::string_view text) const {
  const auto [name, word] = split(text);
  const FieldWord* field = find_field(word);
  for (size_t i = 0; field && i < steps_.size(); ++i) {
    if (!steps_[i].name.empty() && steps_[i].name.text() == name) return AnswerRef{i, field->field};
  }
  return std::nullopt;
}

namespace {

// A read that found nothing read the state that a guard of 0 asks for.
Token revision_of(const Op& answer) {
  if (answer.f == f::read && answer.value.is_null()) return Token(int64_t{0});
  return answer.revision;
}

std::optional<Value> field_of(const Op& answer, AnswerField field) {
  const bool ok = answer.type == OpType::kOk;
  Token token;
  switch (field) {
    case AnswerField::kValue:
      return ok ? std::optional(answer.value) : std::nullopt;
    case AnswerField::kRevision:
      if (ok) token = revision_of(answer);
      break;
    case AnswerField::kAt:
      token = answer.at;
      break;
    case AnswerField::kCurrent:
      if (answer.error) token = answer.error->current;
      break;
  }
  return token.none() ? std::nullopt : std::optional(token.to_value());
}

std::optional<Value> look_up(const AnswerRef& ref, const std::vector<std::optional<Op>>& answers,
                             std::string_view text, std::string& why) {
  const std::optional<Op>& answer = answers[ref.step];
  auto value = answer ? field_of(*answer, ref.field) : std::nullopt;
  if (value) return value;
  why = "there is no " + std::string(text) + ": step " + std::to_string(ref.step + 1) +
        (answer ? " ended as " + std::string(to_string(answer->type)) : " was not performed");
  return std::nullopt;
}

Token token_of(const Value& value) {
  return value.is_int() ? Token(value.as_int()) : Token(value.as_symbol());
}

std::string_view word_of(AnswerField field) {
  for (const FieldWord& word : kFields) {
    if (word.field == field) return word.word;
  }
  return "";
}

}  // namespace

std::optional<Value> Script::resolve(const Value& value,
                                     const std::vector<std::optional<Op>>& answers,
                                     std::string& why) const {
  if (value.is_string()) {
    const std::string_view text = value.as_text();
    if (refers(text)) return look_up(*find_ref(text), answers, text, why);
    return text.starts_with("$$") ? Value(text.substr(1)) : value;
  }
  if (value.is_array()) {
    Value::Array items;
    for (const Value& item : value.as_array()) {
      auto resolved = resolve(item, answers, why);
      if (!resolved) return std::nullopt;
      items.push_back(std::move(*resolved));
    }
    return Value::array(std::move(items));
  }
  if (value.is_object()) {
    Value::Object members;
    for (const auto& [name, member] : value.as_object()) {
      auto resolved = resolve(member, answers, why);
      if (!resolved) return std::nullopt;
      members.emplace_back(name, std::move(*resolved));
    }
    return Value::object(std::move(members));
  }
  return value;
}

std::optional<Op> Script::resolve(size_t index, const std::vector<std::optional<Op>>& answers,
                                  std::string& why) const {
  const ScriptStep& step = steps_[index];
  Op op = step.op;
  if (step.kind != ScriptStep::Kind::kClient) return op;
  auto value = resolve(step.op.value, answers, why);
  if (!value) return std::nullopt;
  op.value = std::move(*value);
  if (step.expected) {
    const AnswerRef& ref = *step.expected;
    const std::string text =
        "$" + std::string(steps_[ref.step].name.text()) + "." + std::string(word_of(ref.field));
    auto token = look_up(ref, answers, text, why);
    if (!token) return std::nullopt;
    op.expected = token_of(*token);
  }
  return op;
}

}  // namespace assay
