#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkers/history/edn_op.h"
#include "checkers/history/edn_parser.h"
#include "checkers/history/history_io.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The forms of a text as JSON, then "error LINE:COLUMN: …" where it ends with one.
std::vector<std::string> forms(const std::string& text, bool outer = false) {
  TextInput input(text);
  EdnParser parser(input, 0);
  if (outer) parser.allow_outer();
  std::vector<std::string> all;
  while (true) {
    const EdnParser::Got got = parser.next();
    if (got == EdnParser::Got::kEnd) return all;
    if (got == EdnParser::Got::kError) {
      const EdnError& error = parser.error();
      all.push_back((error.at_end ? "end " : "error ") + std::to_string(error.place.line) + ":" +
                    std::to_string(error.place.column) + ": " + error.message());
      return all;
    }
    all.push_back(parser.take_value().to_json());
  }
}

TEST(Edn, EveryKindOfFormHasItsJson) {
  const std::pair<const char*, const char*> cases[] = {
      {"nil", "null"},
      {"true", "true"},
      {"false", "false"},
      {"0", "0"},
      {"-17", "-17"},
      {"+17", "17"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "\"9223372036854775808\""},
      {"123456789012345678901234567890N", "\"123456789012345678901234567890\""},
      {"3N", "3"},
      {"0x1F", "31"},
      {"-0xff", "-255"},
      {"017", "15"},
      {"2r101", "5"},
      {"36rZ", "35"},
      {"1/3", "\"1/3\""},
      {"-2/7", "\"-2/7\""},
      {"1.5", "1.5"},
      {"-1.5e3", "-1500.0"},
      {"1e3", "1000.0"},
      {"2.50M", "2.5"},
      {"0.1234567890123456789M", "\"0.1234567890123456789\""},
      {"1e999", "\"1e999\""},
      {"##Inf", "\"##Inf\""},
      {"##-Inf", "\"##-Inf\""},
      {"##NaN", "\"##NaN\""},
      {"\"a b\"", "\"a b\""},
      {R"("\t\n\"\\\u00e9\101")",
       "\"\\t\\n\\\"\\\\\xc3\xa9"
       "A\""},
      {R"("\ud83d\ude00")", "\"\xf0\x9f\x98\x80\""},
      {"\"two\nlines\"", "\"two\\nlines\""},
      {"\\a", "\"a\""},
      {"\\newline", "\"\\n\""},
      {"\\space", "\" \""},
      {"\\u0041", "\"A\""},
      {"\\o101", "\"A\""},
      {"\\(", "\"(\""},
      {"\\\xc3\xa9", "\"\xc3\xa9\""},
      {":read", "\"read\""},
      {":a.b/c", "\"a.b/c\""},
      {"::own", "\"own\""},
      {"symbol", "\"symbol\""},
      {"ns/symbol", "\"ns/symbol\""},
      {"-", "\"-\""},
      {"+x", "\"+x\""},
      {"[1 2,3]", "[1,2,3]"},
      {"(1 [2 (3)])", "[1,[2,[3]]]"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"{:a 1, \"b\" 2, 3 4, [5] 6, nil 7}", R"({"a":1,"b":2,"3":4,"[5]":6,"null":7})"},
      {"#{3 1 2}", "[1,2,3]"},
      {"#{\"b\" :a 10 9}", R"([9,10,"a","b"])"},
      {"#:db{:id 1, :x/y 2, :_/z 3, \"s\" 4}", R"({"db/id":1,"x/y":2,"z":3,"s":4})"},
      {"#inst \"2024-05-01T00:00:00Z\"", "\"2024-05-01T00:00:00Z\""},
      {"#uuid \"f81d4fae\"", "\"f81d4fae\""},
      {"#my/tag [1]", R"({"#my/tag":[1]})"},
      {"#a #b 1", R"({"#a":{"#b":1}})"},
      {"#object[java.lang.Object 0x3f \"x\"]", R"({"#object":["java.lang.Object",63,"x"]})"},
      {"#\"pat+ern\"", "\"pat+ern\""},
      {"^:dynamic x", "\"x\""},
      {"^{:line 1} [1]", "[1]"},
      {"#_ ignored 1", "1"},
      {"#_ #_ one two 3", "3"},
      {"[1 #_[2 {:a 3}] 4]", "[1,4]"},
      {"; only a word\n1 ; and more", "1"},
      {",,, 1 ,,,", "1"},
  };
  for (const auto& [text, json] : cases) EXPECT_THAT(forms(text), ElementsAre(json)) << text;
}

TEST(Edn, DamageIsToldWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"]", "error 1:1: expected a form, found ']'"},
      {"\n  (1 2]", "error 2:7: expected ')' to close what begins at 2:3, found ']'"},
      {"{:a}", "error 1:4: expected a value for the key \"a\", found '}'"},
      {"{:a 1 \"a\" 2}", "error 1:10: expected one member of each name, found a second \"a\""},
      {"12abc", "error 1:1: expected a number, found \"12abc\""},
      {"08", "error 1:1: expected a number, found \"08\""},
      {"1/", "error 1:1: expected a number, found \"1/\""},
      {"1.2.3", "error 1:1: expected a number, found \"1.2.3\""},
      {"@x", "error 1:1: expected EDN, found '@'"},
      {"[\x01]", "error 1:2: expected EDN, found the byte 0x01"},
      {"#<Object>", "error 1:1: expected EDN, found #<, which no reader takes"},
      {"\"\\q\"", "error 1:3: expected an escape, found \\ and 'q'"},
      {"\"\\ud800x\"", "error 1:3: expected two halves of a surrogate pair, found one"},
      {"\"\\u00g0\"", "error 1:6: expected a hexadecimal digit, found 'g'"},
      {"\\wrong", "error 1:1: expected a character, found \"\\\\wrong\""},
      {"\"\xff\"", "error 1:1: expected UTF-8, found the byte 0xff in a text"},
      {"k\xc3(", "error 1:1: expected UTF-8, found the byte 0xc3 in a text"},
      {"##Infinity", "error 1:1: expected ##Inf, ##-Inf or ##NaN, found \"##Infinity\""},
      {": x", "error 1:2: expected a word after ':', found the byte 0x20"},
      {"[#tag]", "error 1:6: expected a form after #tag, found ']'"},
      {"[1", "end 1:3: expected ']' to close what begins at 1:1, found the end of the file"},
      {"{:a \"x", "end 1:7: expected '\"' to close what begins at 1:5, found the end of the file"},
      {"#tag", "end 1:5: expected a form after #tag, found the end of the file"},
      {"\"over\nlines",
       "error 1:1: expected a text that ends, found none up to the end of the file"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(forms(text), ElementsAre(error)) << text;
}

TEST(Edn, OneVectorOrListMayHoldEverything) {
  EXPECT_THAT(forms("[1 2]", true), ElementsAre("1", "2"));
  EXPECT_THAT(forms("; all\n(1\n[2])\n; end", true), ElementsAre("1", "[2]"));
  EXPECT_THAT(forms("#history.Of [1]", true), ElementsAre("1"));
  EXPECT_THAT(forms("[]", true), IsEmpty());
  EXPECT_THAT(forms("1 [2]", true), ElementsAre("1", "[2]"));
  EXPECT_THAT(forms("[1] 2", true),
              ElementsAre("1",
                          "error 1:5: expected the end of the file after what holds everything, "
                          "found '2'"));
  EXPECT_THAT(forms("[1)", true), ElementsAre("1", "error 1:3: expected a form, found ')'"));
  EXPECT_THAT(forms("[1", true), ElementsAre("1",
                                             "end 1:3: expected ']' to close what begins at "
                                             "1:1, found the end of the file"));
}

TEST(Edn, NestingHasALimitAndNoRecursion) {
  for (const std::string open : {"[", "(", "{1 ", "#{", "#t ", "#_ ", "{:a #t ", "^"}) {
    std::string text;
    for (int i = 0; i < 1'000'000; ++i) text += open;
    const auto all = forms(text);
    ASSERT_EQ(all.size(), 1u) << open;
    EXPECT_THAT(all[0], HasSubstr("at most 128 levels of nesting")) << open;
  }
}

TEST(Edn, AFormHasALimitOfBytes) {
  for (const std::string& text :
       {"[\"" + std::string(200'000, 'x') + "\"]", "[" + std::string(200'000, 'x') + "]",
        "[" + std::string(200'000, '1') + "]", [] {
          std::string row = "[";
          for (int i = 0; i < 30'000; ++i) row += "1 ";
          return row + "]";
        }()}) {
    const auto source = text_source(text);
    TextInput input(*source);
    EdnParser parser(input, 1'000);
    EXPECT_EQ(parser.next(), EdnParser::Got::kError);
    EXPECT_TRUE(parser.is_too_long());
    EXPECT_LE(input.offset(), 1u << 16) << "of the block at most";
  }
}

// --- Operations --------------------------------------------------------------------------------

Result<History> edn_history(const std::string& text) {
  return parse_history(text, "h", {.format = HistoryFormat::kEdn});
}

std::string json_of(const History& history) {
  std::string lines;
  history.for_each_line([&lines](const Op& op) { append_line(lines, op); });
  return lines;
}

// The line of our own format that one operation becomes, after its index.
std::string line_of_edn(const std::string& text) {
  const Result<History> history = edn_history(text);
  EXPECT_TRUE(history.ok()) << history.error().message;
  if (!history.ok()) return "";
  const std::string lines = json_of(*history);
  return lines.substr(lines.find(',') + 1);
}

std::string edn_refusal(const std::string& text) {
  const Result<History> history = edn_history(text);
  EXPECT_FALSE(history.ok()) << text;
  if (history.ok()) return "";
  EXPECT_EQ(history.error().fault, Fault::kInput);
  return history.error().message;
}

TEST(EdnOp, MapsAndRecordsAreOperations) {
  for (const char* text :
       {"{:type :invoke, :f :write, :value 3, :process 0, :time 5, :index 0}",
        "#jepsen.history.Op{:index 0, :time 5, :type :invoke, :process 0, :f :write, :value 3}",
        "#knossos.op.Op{:process 0, :type :invoke, :f :write, :value 3, :time 5}",
        "[{:index -1 :process 0 :time 5 :type :invoke :f write :value 3}]"}) {
    EXPECT_EQ(line_of_edn(text),
              "\"time\":5,\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":3}\n")
        << text;
  }
}

// The usual fields are read by themselves: a further one, which is then dropped again, takes the
// long way.
TEST(EdnOp, AFurtherFieldDoesNotChangeTheOthers) {
  for (const char* fields :
       {":process 0, :type :invoke, :f :read",
        ":process 7 :type :invoke :f :cas :value [1 2] :time 3",
        ":index 5, :time 0, :process 1, :type :invoke, :f :write, :value {:a 1}",
        ":process 3, :type :invoke, :f :write, :value #my/tag 1",
        ":process 3, :type :invoke, :f \"a b\", :index -1, :time nil, :value nil"}) {
    const std::string plain = line_of_edn("{" + std::string(fields) + "}");
    std::string longer = line_of_edn("{" + std::string(fields) + ", :more 1}");
    const size_t more = longer.find(",\"more\":1");
    ASSERT_NE(more, longer.npos) << longer;
    EXPECT_EQ(longer.erase(more, 9), plain);
  }
}

TEST(EdnOp, ErrorsOfAnyShapeAreKept) {
  const std::pair<const char*, const char*> cases[] = {
      {":timeout", R"({"class":"timeout"})"},
      {"\"no leader\"", R"({"class":"no leader"})"},
      {"nil", ""},
      {"[:duplicate-key \"etcd says\"]", R"({"class":"duplicate-key","text":"etcd says"})"},
      {"[:http 500]", R"({"class":"http","more":[500]})"},
      {"[:http \"bad\" 500 {:a 1}]", R"({"class":"http","text":"bad","more":[500,{"a":1}]})"},
      {"{:type :unavailable, :definite? false}",
       R"({"class":"unavailable","type":"unavailable","definite?":false})"},
      {"{:class :conflict, :current 7}", R"({"class":"conflict","current":7})"},
      {"{:class 5, :text [1]}", R"({"class":"",":class":5,":text":[1]})"},
      {"500", R"({"class":"other","value":500})"},
      {"[]", R"({"class":"other","value":[]})"},
      {"[1 2]", R"({"class":"other","value":[1,2]})"},
      {"#error{:cause \"x\"}", R"({"class":"other","value":{"#error":{"cause":"x"}}})"},
  };
  for (const auto& [edn, json] : cases) {
    const std::string wanted = *json ? ",\"error\":" + std::string(json) : "";
    const Result<History> history = edn_history(
        "{:process 0, :type :invoke, :f :read, :value nil}\n{:process 0, :type :info, "
        ":f :read, :value nil, :error " +
        std::string(edn) + "}");
    ASSERT_TRUE(history.ok()) << history.error().message;
    EXPECT_THAT(json_of(*history), HasSubstr(R"("type":"info","f":"read")" + wanted + "}\n"))
        << edn;
  }
}

TEST(EdnOp, FurtherFieldsAreKept) {
  EXPECT_EQ(line_of_edn("{:process :nemesis, :type :info, :f :start, :value #{:n2 :n1}, "
                        ":clock-offsets {\"n1\" 0.5}, :node [:n1 :n2], :my/field \\x}"),
            R"("process":"nemesis","type":"info","f":"start","value":["n1","n2"],)"
            R"("clock-offsets":{"n1":0.5},":node":["n1","n2"],"my/field":"x"})"
            "\n");
}

TEST(EdnOp, ErrorsNameFileLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "h:1:1: expected an operation, found nothing"},
      {"[]", "h:1:3: expected an operation, found nothing"},
      {"; nothing\n", "h:2:1: expected an operation, found nothing"},
      {"5", "h:1:1: expected an operation, which is a map, found 5"},
      {"[[:a 1]]", "h:1:2: expected an operation, which is a map, found [\"a\",1]"},
      {"{:type :invoke,\n :f :read}",
       "h:1:1: expected an integer from 0, \"nemesis\" or \"observer\" as \"process\", found none"},
      {"{:process 0, :type :invoked, :f :read}",
       "h:1:20: expected \"invoke\", \"ok\", \"fail\" or \"info\" as \"type\", found \"invoked\""},
      {"[{:process 0\n  :type :invoke\n  :f nil}]", "h:3:6: expected a word as \"f\", found none"},
      {"{:process :client, :type :ok, :f :read}",
       "h:1:11: expected an integer from 0, \"nemesis\" or \"observer\" as \"process\", found "
       "\"client\""},
      {"{:process 0, :type :ok, :f :read, :time \"now\"}",
       "h:1:41: expected an integer from 0 as \"time\", found \"now\""},
      {"{:process 0, :type :ok, :f :read}",
       "h:1:1: expected an invocation of process 0 before its completion, found ok of \"read\" "
       "alone"},
      {"{:process 0, :type :invoke, :f :read, :value nil\n{:process 1, :type :invoke, :f :read}",
       "h:2:1: expected a keyword or '}', found a collection"},
      {"{:process 0, :type :invoke, :f :read, :value nil\n#op{:process 1, :type :invoke, :f :read}",
       "h:2:1: expected a keyword or '}', found #op"},
      {"{:process 0, :type :invoke, :f :read} {:process 1, :f \"read}\n{:process 2}",
       "h:1:55: expected a text that ends, found none up to the end of the file"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(edn_refusal(text), message) << text;
}

TEST(EdnOp, ATornTailIsDroppedWithAWarning) {
  const std::string whole = "{:process 0, :type :invoke, :f :write, :value 1}\n";
  for (const std::string tail : {"{:process 1, :ty", "{:process 1, :error \"bro",
                                 "#jepsen.history.Op", "{:process 1, :value [1 2"}) {
    for (const std::string open : {"", "["}) {
      const Result<History> history = edn_history(open + whole + tail);
      ASSERT_TRUE(history.ok()) << history.error().message;
      EXPECT_EQ(history->events(), 1u);
      EXPECT_THAT(history->warnings(),
                  ElementsAre(HasSubstr("torn_tail: the last line, 2, is cut")));
    }
  }
  const Result<History> open_vector = edn_history("[" + whole);
  ASSERT_TRUE(open_vector.ok());
  EXPECT_THAT(open_vector->warnings(),
              ElementsAre(HasSubstr("expected ']' to close what begins at")));
}

// --- Independent keys --------------------------------------------------------------------------

std::string op_with(const std::string& type, const std::string& f, const std::string& value,
                    int process = 0) {
  return "{:process " + std::to_string(process) + ", :type :" + type + ", :f :" + f + ", :value " +
         value + "}\n";
}

struct Keyed {
  std::string keys;  // of the operations, with their arguments
  std::vector<std::string> warnings;
  std::string error;
};

Keyed keyed(const std::string& text, std::optional<bool> asked = std::nullopt) {
  Keyed seen;
  const Result<History> history =
      parse_history(text, "h", {.format = HistoryFormat::kEdn, .independent = asked});
  if (!history.ok()) {
    seen.error = history.error().message;
    return seen;
  }
  for (size_t i = 0; i < history->size(); ++i)
    seen.keys +=
        std::string((*history)[i].key().text()) + "=" + (*history)[i].argument().to_json() + " ";
  seen.warnings = history->warnings();
  return seen;
}

TEST(IndependentKeys, AreTakenWhereTheyAreTaggedOrCannotBeAnythingElse) {
  const std::string write = op_with("invoke", "write", "[7 1]", 9);
  const std::pair<std::string, const char*> cases[] = {
      {op_with("invoke", "write", "#jepsen.independent/tuple [\"k\" 3]"), "k=3 "},
      {op_with("invoke", "write", "#clojure.lang.MapEntry [:k 3]"), "k=3 "},
      {op_with("invoke", "cas", "#jepsen.independent.Tuple [4 [1 2]]"), "4=[1,2] "},
      {write + op_with("invoke", "read", "[7 nil]"), "7=1 7=null "},
      {write + op_with("invoke", "cas", "[\"x\" [1 2]]"), "7=1 x=[1,2] "},
      {op_with("invoke", "txn", "[3 [[:r 1 nil]]]"), "3=[[\"r\",1,null]] "},
      // Not: a cas or a read of a register, a transaction of two, a file that shows nothing.
      {write + op_with("invoke", "read", "nil"), "=[7,1] =null "},
      {op_with("invoke", "cas", "[1 2]") + op_with("invoke", "write", "3", 1), "=[1,2] =3 "},
      {op_with("invoke", "txn", "[[:r 1 nil] [:w 1 2]]"), "=[[\"r\",1,null],[\"w\",1,2]] "},
  };
  for (const auto& [text, keys] : cases) {
    EXPECT_EQ(keyed(text).keys, keys) << text << keyed(text).error;
    EXPECT_THAT(keyed(text).warnings, IsEmpty()) << text;
  }
}

TEST(IndependentKeys, OfAFileThatShowsNothingAreAQuestion) {
  const std::string text = op_with("invoke", "cas", "[1 2]") + op_with("ok", "cas", "[1 2]");
  EXPECT_EQ(keyed(text).keys, "=[1,2] ");
  EXPECT_THAT(keyed(text).warnings,
              ElementsAre(HasSubstr("--independent yes takes it as [key value]")));
  EXPECT_EQ(keyed(text, true).keys, "1=2 ");
  EXPECT_EQ(keyed(text, false).keys, "=[1,2] ");
  EXPECT_EQ(keyed(op_with("invoke", "read", "[7 nil]"), false).keys, "=[7,null] ");
}

TEST(IndependentKeys, WhichOneOperationLacksAreAnError) {
  const std::string text = op_with("invoke", "read", "[7 nil]") +
                           "{:process :nemesis, :type :info, :f :start, :value :any}\n" +
                           op_with("info", "read", "nil") + op_with("invoke", "write", "5", 1);
  EXPECT_EQ(keyed(text).error,
            "h:4:1: expected [key value] as the value of each operation (line 1; --independent no "
            "takes it as it is), found 5");
}

}  // namespace
}  // namespace assay
