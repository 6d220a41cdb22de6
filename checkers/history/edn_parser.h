// EDN, and what Clojure prints beyond it, form by form to Values, from a stream. Private to the
// readers of histories.
//
//   nil, true, false, integers (decimal, hexadecimal, octal, radix), floating point   as in JSON
//   strings, characters, keywords (without the colon, with the namespace), symbols    a string
//   integers beyond 64 bits, ratios, decimals of more than 15 digits, ##Inf, ##NaN     a string
//   vectors, lists                                                                    an array
//   sets                                                       an array, in an order of its own
//   maps (#:ns{…} too); keys are texts: that of the key, of others their JSON        an object
//   #inst, #uuid                                               what they stand before
//   #tag form                                                  the object {"#tag": form}
// Comments, #_ and metadata are dropped. One vector or list may hold everything: then its elements
// are the forms. At most kDepthMax levels of nesting; the parser does not recurse.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "checkers/history/history_io_json.h"
#include "checkers/history/text_input.h"
#include "checkers/history/value.h"

namespace assay {

struct EdnError {
  Place place;
  std::string expected;
  std::string found;
  bool at_end = false;  // the text ended where more was expected: it may be cut off

  std::string message() const { return "expected " + expected + ", found " + found; }
};

class EdnParser {
 public:
  // A form of more bytes than form_bytes_max (0: no limit) is an error.
  EdnParser(TextInput& input, uint64_t form_bytes_max)
      : input_(input), form_bytes_max_(form_bytes_max) {}

  // The forms are elements of one vector or list, if the first one of the text is such.
  void allow_outer() { may_be_outer_ = true; }
  // The outermost maps are operations: their keys are words, which tells soon where a brace is
  // missing.
  void expect_operations() { operations_ = true; }

  enum class Got { kForm, kEnd, kError };
  Got next();
  // Of kForm.
  Value take_value() { return std::move(root_); }
  Place place() const { return place_; }
  struct Member {
    Symbol name;
    Place place;  // of the value
  };
  const std::vector<Member>& members() const { return members_; }  // of the outermost map
  // Of kError. Nothing when the source failed, or a form is too long.
  const EdnError& error() const { return error_; }
  bool is_too_long() const { return is_too_long_; }

 private:
  struct Frame {
    enum class Kind : uint8_t { kVector, kList, kSet, kMap, kTag, kDiscard } kind;
    Place place;
    std::string name{};  // of a tag; the namespace of a map's keys
    Value::Array items{};
    Value::Object members{};
    std::unordered_set<Symbol> seen{};  // of the members, once there are many
    bool has_key = false;
    Symbol key{};
    bool is_collection() const { return kind < Kind::kTag; }
  };

  bool blanks();
  bool form();
  bool start(int c);
  bool dispatch(Place place);
  bool open(Frame::Kind kind, Place place, std::string name = {});
  bool close(int c, Place place);
  bool string(Place place);
  bool escape();
  bool unicode(unsigned& code);
  bool character(Place place);
  bool keyword(Place place);
  bool word(Place place);
  bool symbolic(Place place);
  bool name_space(Place place);
  bool token(Place place, const char* expected);
  bool put(Value value, bool is_keyword = false);
  bool put_in_map(Frame& frame, Value value, bool is_keyword);
  bool check_utf8(Place place);
  bool fail(Place place, std::string expected, std::string found);
  bool fail_at_end(std::string expected);
  bool is_operation(const Frame& frame) const {
    return operations_ && frame.kind == Frame::Kind::kMap && &frame == &stack_[first_];
  }

  TextInput& input_;
  uint64_t form_bytes_max_;
  bool may_be_outer_ = false;
  bool operations_ = false;
  int outer_close_ = 0;  // what closes the outer collection; 0: there is none
  Place outer_place_;
  bool outer_closed_ = false;

  std::vector<Frame> stack_;
  size_t collections_ = 0;  // of the stack
  size_t first_ = 0;        // in the stack: of the outermost collection
  uint64_t form_start_ = 0;
  bool done_ = false;
  Value root_;
  Place place_;
  std::vector<Member> members_;
  std::string text_;  // of the token that is being read
  EdnError error_;
  bool is_too_long_ = false;
};

// Integers first, by size, then the rest by their JSON: equal sets become equal arrays.
void sort_set(Value::Array& items);
// The number that a word of EDN writes, or a string where JSON has none; nothing where it is none.
std::optional<Value> edn_number(std::string_view word);

}  // namespace assay
