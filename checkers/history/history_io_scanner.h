// The fast reader of a line. It knows only what a line usually looks like: fields in any order, no
// escapes in strings, no null but as the value. It never says what is wrong with a line: whatever
// it does not take is for the JSON library, whose answer counts. So a line that it takes must give
// the same Op as the library does. Private to history_io*.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "checkers/history/op.h"

namespace assay {

class LineScanner {
 public:
  // False: not taken, and op holds nothing of use.
  bool scan(std::string_view line, Op& op);

 private:
  enum Field : uint32_t;

  bool field(Op& op);
  bool known_field(Op& op, bool& taken);
  bool other_field();
  bool error(OpError& error);
  bool process(Process& process);
  bool type(OpType& type);
  bool key(Symbol& key);
  bool token(Token& token);
  bool text(std::string_view& text);
  bool symbol(Symbol& symbol);
  bool not_negative(int64_t& number);
  bool integer(int64_t& number);
  bool number(Value& value);
  bool value(Value& value, size_t depth);
  bool array(Value& value, size_t depth);
  bool object(Value& value, size_t depth);
  template <size_t kSize>
  bool literal(const char (&word)[kSize]);
  template <size_t kSize>
  bool name(const char (&word)[kSize]);
  bool eat(char c);
  bool once(Field field);
  bool colon();
  void spaces();
  uint64_t next8() const;

  // The symbol of a text of at most seven bytes, by those bytes as a number.
  struct Known {
    uint64_t word = 0;
    Symbol symbol;
  };
  static constexpr size_t kKnownBits = 9;

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint32_t seen_ = 0;
  Value::Object extra_;
  std::array<Known, size_t{1} << kKnownBits> known_;
};

}  // namespace assay
