#include "checkers/history/edn_parser.h"

#include <algorithm>
#include <utility>

#include "checkers/history/edn_text.h"

namespace assay {
namespace {

char closer_of(bool is_list, bool is_vector) { return is_list ? ')' : is_vector ? ']' : '}'; }

// The key's text: of anything but a text its JSON.
Symbol key_of(const Value& key) {
  return key.is_string() ? key.as_symbol() : Symbol(key.to_json());
}

}  // namespace

bool EdnParser::fail(Place place, std::string expected, std::string found) {
  error_ = {place, std::move(expected), std::move(found), false};
  return false;
}

bool EdnParser::fail_at_end(std::string expected) {
  error_ = {input_.place(), std::move(expected), "the end of the file", true};
  return false;
}

EdnParser::Got EdnParser::next() {
  stack_.clear();
  collections_ = 0;
  done_ = false;
  while (!done_) {
    if (stack_.empty()) {
      blanks();
      const int c = input_.peek();
      if (c == TextInput::kEnd) {
        if (input_.failure()) return Got::kError;
        if (outer_close_ == 0 || outer_closed_) return Got::kEnd;
        fail_at_end(shown_byte(outer_close_) + " to close what begins at " +
                    at_place(outer_place_));
        return Got::kError;
      }
      place_ = input_.place();
      form_start_ = input_.offset();
      members_.clear();
      if (outer_closed_) {
        fail(place_, "the end of the file after what holds everything", shown_byte(c));
        return Got::kError;
      }
      if (c == outer_close_) {
        input_.skip();
        outer_closed_ = true;
        continue;
      }
    }
    if (!form()) return Got::kError;
  }
  may_be_outer_ = false;
  return Got::kForm;
}

bool EdnParser::blanks() {
  while (true) {
    const int c = input_.peek();
    if (c == ';') {
      while (input_.peek() != '\n' && input_.peek() != TextInput::kEnd) input_.skip();
    } else if (!is_edn_blank(c)) {
      return true;
    } else {
      input_.skip();
    }
  }
}

// The next token.
bool EdnParser::form() {
  blanks();
  if (form_bytes_max_ != 0 && input_.offset() - form_start_ > form_bytes_max_) {
    is_too_long_ = true;
    return false;
  }
  const int c = input_.peek();
  if (c == TextInput::kEnd) {
    const Frame& top = stack_.back();
    if (!top.is_collection()) return fail_at_end("a form after #" + top.name);
    const char closer = closer_of(top.kind == Frame::Kind::kList, top.kind == Frame::Kind::kVector);
    return fail_at_end(shown_byte(closer) + " to close what begins at " + at_place(top.place));
  }
  if (stack_.size() == first_ + 1 && collections_ == 1 && stack_[first_].has_key &&
      (members_.empty() || members_.back().name != stack_[first_].key))
    members_.push_back({stack_[first_].key, input_.place()});
  return start(c);
}

bool EdnParser::start(int c) {
  const Place place = input_.place();
  switch (c) {
    case '"':
      input_.skip();
      return string(place) && check_utf8(place) && put(Symbol(text_));
    case '\\':
      return character(place);
    case ':':
      return keyword(place);
    case '#':
      input_.skip();
      return dispatch(place);
    case '^':
      input_.skip();
      return open(Frame::Kind::kDiscard, place, "^");
    case '(':
      input_.skip();
      return open(Frame::Kind::kList, place);
    case '[':
      input_.skip();
      return open(Frame::Kind::kVector, place);
    case '{':
      input_.skip();
      return open(Frame::Kind::kMap, place);
    case ')':
    case ']':
    case '}':
      return close(c, place);
    default:
      break;
  }
  if (!is_edn_word(c) || c == '\'') return fail(place, "EDN", shown_byte(c));
  return word(place);
}

// What follows a '#'.
bool EdnParser::dispatch(Place place) {
  const int c = input_.peek();
  switch (c) {
    case '{':
      input_.skip();
      return open(Frame::Kind::kSet, place);
    case '_':
      input_.skip();
      return open(Frame::Kind::kDiscard, place, "_");
    case '^':
      input_.skip();
      return open(Frame::Kind::kDiscard, place, "^");
    case '"':  // a pattern
      input_.skip();
      return string(place) && check_utf8(place) && put(Symbol(text_));
    case '#':
      input_.skip();
      return symbolic(place);
    case ':':
      return name_space(place);
    default:
      break;
  }
  if (c == TextInput::kEnd) return fail_at_end("a tag after '#'");
  if (!is_edn_word(c) || c == '<' || c == '\'' || c == '=' || is_edn_digit(c))
    return fail(
        place, "EDN",
        std::string("#") + (c > 0x20 && c < 0x7f ? char(c) : '?') + ", which no reader takes");
  return token(place, "a tag") && open(Frame::Kind::kTag, place, text_);
}

bool EdnParser::symbolic(Place place) {
  if (!token(place, "Inf, -Inf or NaN")) return false;
  if (text_ != "Inf" && text_ != "-Inf" && text_ != "NaN")
    return fail(place, "##Inf, ##-Inf or ##NaN", edn_quoted("##" + text_));
  return put(Symbol("##" + text_));
}

// #:ns{…} and #::ns{…}
bool EdnParser::name_space(Place place) {
  while (input_.peek() == ':') input_.skip();
  std::string name;
  if (input_.peek() != '{') {
    if (!token(place, "a namespace")) return false;
    name = text_;
  }
  blanks();
  if (input_.peek() == TextInput::kEnd) return fail_at_end("'{'");
  if (input_.peek() != '{') return fail(input_.place(), "'{'", shown_byte(input_.peek()));
  input_.skip();
  return open(Frame::Kind::kMap, place, name);
}

bool EdnParser::open(Frame::Kind kind, Place place, std::string name) {
  const bool is_row = kind == Frame::Kind::kVector || kind == Frame::Kind::kList;
  if (may_be_outer_ && is_row && std::all_of(stack_.begin(), stack_.end(), [](const Frame& frame) {
        return frame.kind == Frame::Kind::kTag;
      })) {
    may_be_outer_ = false;
    stack_.clear();
    outer_close_ = kind == Frame::Kind::kList ? ')' : ']';
    outer_place_ = place;
    return true;
  }
  if (!stack_.empty() && is_operation(stack_.back()) && !stack_.back().has_key &&
      kind != Frame::Kind::kDiscard)
    return fail(place, "a keyword or '}'", kind == Frame::Kind::kTag ? "#" + name : "a collection");
  if (stack_.size() == kDepthMax)
    return fail(place, "at most " + std::to_string(kDepthMax) + " levels of nesting", "more");
  stack_.push_back({.kind = kind, .place = place, .name = std::move(name)});
  if (!stack_.back().is_collection()) return true;
  if (collections_++ == 0) first_ = stack_.size() - 1;
  return true;
}

bool EdnParser::close(int c, Place place) {
  if (stack_.empty()) return fail(place, "a form", shown_byte(c));
  Frame& top = stack_.back();
  if (!top.is_collection()) return fail(place, "a form after #" + top.name, shown_byte(c));
  const char closer = closer_of(top.kind == Frame::Kind::kList, top.kind == Frame::Kind::kVector);
  if (c != closer)
    return fail(place, shown_byte(closer) + " to close what begins at " + at_place(top.place),
                shown_byte(c));
  if (top.has_key)
    return fail(place, "a value for the key " + edn_quoted(top.key.text()), shown_byte(c));
  input_.skip();
  if (top.kind == Frame::Kind::kSet) sort_set(top.items);
  Value value = top.kind == Frame::Kind::kMap ? Value::object(std::move(top.members))
                                              : Value::array(std::move(top.items));
  stack_.pop_back();
  --collections_;
  return put(std::move(value));
}

// A form is complete: it goes where it belongs.
bool EdnParser::put(Value value, bool is_keyword) {
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    if (top.kind == Frame::Kind::kMap) return put_in_map(top, std::move(value), is_keyword);
    if (top.is_collection()) {
      top.items.push_back(std::move(value));
      return true;
    }
    const bool is_dropped = top.kind == Frame::Kind::kDiscard;
    const std::string name = std::move(top.name);
    stack_.pop_back();
    if (is_dropped) return true;
    if (name != "inst" && name != "uuid")
      value = Value::object({{Symbol("#" + name), std::move(value)}});
    is_keyword = false;
  }
  root_ = std::move(value);
  done_ = true;
  return true;
}

bool EdnParser::put_in_map(Frame& frame, Value value, bool is_keyword) {
  if (std::exchange(frame.has_key, !frame.has_key)) {
    frame.members.back().second = std::move(value);
    return true;
  }
  if (is_operation(frame) && !value.is_string())
    return fail(input_.place(), "a keyword or '}'", "the key " + edn_quoted(value.to_json()));
  frame.key = key_of(value);
  if (is_keyword && !frame.name.empty()) {
    const std::string_view key = frame.key.text();
    if (key.starts_with("_/")) {
      frame.key = Symbol(key.substr(2));
    } else if (key.find('/') == key.npos) {
      frame.key = Symbol(frame.name + "/" + std::string(key));
    }
  }
  constexpr size_t kFew = 16;
  bool is_new;
  if (frame.members.size() < kFew) {
    is_new = std::none_of(frame.members.begin(), frame.members.end(),
                          [&](const auto& member) { return member.first == frame.key; });
  } else {
    if (frame.seen.empty())
      for (const auto& member : frame.members) frame.seen.insert(member.first);
    is_new = frame.seen.insert(frame.key).second;
  }
  if (!is_new)
    return fail(input_.place(), "one member of each name",
                "a second " + edn_quoted(frame.key.text()));
  frame.members.emplace_back(frame.key, Value());
  return true;
}

}  // namespace assay
