// The fast reader of a line. It knows only what a line usually looks like: fields in any order, no
// escapes in strings, no null but as the value. It never says what is wrong with a line: whatever
// it does not take is for the JSON library, whose answer counts. So a line that it takes must give
// the same Op as the library does. Private to history_io*.cc.
#pragma once

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
  bool known_field(std::string_view name, Op& op, bool& known);
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
  bool literal(std::string_view word);
  bool eat(char c);
  bool once(Field field);
  void spaces();

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint32_t seen_ = 0;
  Value::Object extra_;
};

}  // namespace assay
