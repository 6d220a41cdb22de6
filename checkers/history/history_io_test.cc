#include "checkers/history/history_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "checkers/history/history_io_json.h"
#include "checkers/history/history_io_scanner.h"
#include "checkers/history/test_history.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kHeader = "{\"format\":\"assay-history\",\"version\":1}\n";

std::string lines_of(const History& history) {
  std::string lines;
  history.for_each_line([&lines](const Op& op) { append_line(lines, op); });
  return lines;
}

// Reads with both readers, which must agree.
Result<History> parse(std::string_view text) {
  Result<History> history = parse_history(text, "h", {.format = HistoryFormat::kJsonl});
  const Result<History> other =
      parse_history(text, "h", {.library_only = true, .format = HistoryFormat::kJsonl});
  EXPECT_EQ(history.ok(), other.ok()) << text;
  if (history.ok() && other.ok()) {
    EXPECT_EQ(lines_of(*history), lines_of(*other)) << text;
    EXPECT_EQ(history->warnings(), other->warnings()) << text;
  } else if (!history.ok() && !other.ok()) {
    EXPECT_EQ(history.error().message, other.error().message);
  }
  return history;
}

History parsed(std::string_view text) {
  Result<History> history = parse(text);
  EXPECT_TRUE(history.ok()) << history.error().message << '\n' << text;
  return history.ok() ? std::move(*history) : History();
}

std::string refusal(std::string_view text) {
  const Result<History> history = parse(text);
  EXPECT_FALSE(history.ok()) << text;
  if (history.ok()) return "";
  EXPECT_EQ(history.error().fault, Fault::kInput);
  return history.error().message;
}

// The first line as the readers see it, and what they say of it when it is wrong.
Op op_in(const std::string& line) {
  const History history = parsed(line + "\n");
  Op first;
  history.for_each_line([&first](const Op& op) { first = op; });
  return first;
}

std::string line_of(const Op& op) {
  std::string line;
  append_line(line, op);
  return line;
}

// --- Lines -------------------------------------------------------------------------------------

TEST(HistoryIo, ReadsTheLinesOfTheFormat) {
  const History history = parsed(
      kHeader +
      R"({"index":12,"time":104233,"process":3,"type":"invoke","f":"cas","key":"k1","value":[1,2]}
{"index":15,"time":190021,"process":3,"type":"ok","f":"cas","key":"k1","value":[1,2],"revision":77,"node":"n2"}
)");
  ASSERT_EQ(history.size(), 1u);
  const Operation cas = history[0];
  EXPECT_EQ(cas.process(), Process{3});
  EXPECT_EQ(cas.f(), f::cas);
  EXPECT_EQ(cas.key(), Symbol("k1"));
  EXPECT_EQ(cas.argument(), Value::pair(1, 2));
  EXPECT_EQ(cas.result(), Value::pair(1, 2));
  EXPECT_EQ(cas.type(), OpType::kOk);
  EXPECT_EQ(cas.revision(), Token(77));
  EXPECT_EQ(cas.node(), Symbol("n2"));
  EXPECT_EQ(cas.invoke_time(), nanoseconds(104233));
  EXPECT_EQ(cas.return_time(), nanoseconds(190021));
  EXPECT_EQ(cas.invoke_index(), 12);
  EXPECT_EQ(cas.return_index(), 15);
  EXPECT_THAT(history.warnings(), IsEmpty());
}

TEST(HistoryIo, ReadsEveryField) {
  const Op op = op_in(
      R"({"index":1,"time":2,"process":3,"type":"invoke","f":"cas","key":"k","value":{"a":[1.5,null]},)"
      R"("node":"n1","revision":4,"at":"v5","expected":6,"error":{"class":"c","text":"t","current":7},)"
      R"("scheduled":1,"session":"s","seq":[8]})");
  EXPECT_EQ(op.index, 1);
  EXPECT_EQ(op.time, nanoseconds(2));
  EXPECT_EQ(op.process, Process{3});
  EXPECT_EQ(op.value.to_json(), R"({"a":[1.5,null]})");
  EXPECT_EQ(op.node, Symbol("n1"));
  EXPECT_EQ(op.revision, Token(4));
  EXPECT_EQ(op.at, Token(Symbol("v5")));
  EXPECT_EQ(op.expected, Token(6));
  ASSERT_TRUE(op.error.has_value());
  EXPECT_EQ(op.error->cls, Symbol("c"));
  EXPECT_EQ(op.error->text, "t");
  EXPECT_EQ(op.error->current, Token(7));
  EXPECT_EQ(op.scheduled, nanoseconds(1));
  EXPECT_EQ(op.extra.to_json(), R"({"session":"s","seq":[8]})");
}

TEST(HistoryIo, WhatIsWrittenReadsBack) {
  const char* script = R"(
      0 invoke write k 1 @n1 scheduled=0
      nemesis info start-kill {"shape":"one"}
      1 invoke cas "quote \" slash \\ ü" expected=v1
      0 ok write k 1 @n1 revision=7 at=8
      observer info status {"node":"n1","term":3}
      1 fail cas "quote \" slash \\ ü" error=conflict text="now\t\"9\"" current=9
      nemesis info start-kill {"victims":["n1"]}
      2 invoke read k session=a flag=true list=[1,2.5]
      2 info read k error=timeout)";
  std::string lines;
  for (const Op& op : ops_of(script)) append_line(lines, op);
  const History history = parsed(kHeader + lines);
  EXPECT_EQ(lines_of(history), lines_of(history_of(script)));
}

TEST(HistoryIo, TheCanonicalLineLeavesOutWhatIsAbsent) {
  EXPECT_EQ(line_of(op_of("0 invoke read")),
            "{\"index\":0,\"time\":0,\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n");
  Op op = op_of(R"(nemesis info start-kill k 1 @n expected=1 at=2 revision=3 error=e text=t)"
                R"( current=4 scheduled=5 x=6)");
  op.index = -1;
  op.time = {-1};
  EXPECT_EQ(line_of(op),
            R"({"process":"nemesis","type":"info","f":"start-kill","key":"k","value":1,"node":"n",)"
            R"("revision":3,"at":2,"expected":1,"error":{"class":"e","text":"t","current":4},)"
            "\"scheduled\":5,\"x\":6}\n");
}

TEST(HistoryIo, FieldsMayComeInAnyOrderWithSpaces) {
  const char* lines[] = {
      R"({"value":1,"key":"k","f":"write","type":"invoke","process":0,"time":5,"index":3})",
      R"({ "index" : 3 , "time": 5, "process": 0, "type": "invoke", "f": "write", "key": "k", "value": 1 })",
      "{\t\"index\":3,\"time\":5,\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"key\":\"k\","
      "\"value\":1}\r",
      R"({"index":3,"time":5,"process":0,"type":"inv\u006fke","f":"write","k\u0065y":"k","value":1})",
      R"({"index":3,"time":5,"process":0,"type":"invoke","f":"write","key":"k","value":1,"node":null,"error":null,"at":null})",
  };
  for (const char* line : lines)
    EXPECT_EQ(line_of(op_in(line)), line_of(op_of("0 invoke write k 1 index=3 time=5"))) << line;
}

TEST(HistoryIo, ProcessesAreNumbersNemesisOrObserver) {
  const auto process = [](const std::string& word) {
    return op_in(R"({"process":)" + word + R"(,"type":"info","f":"start"})").process;
  };
  EXPECT_EQ(process("\"nemesis\""), kNemesis);
  EXPECT_EQ(process("\":nemesis\""), kNemesis);
  EXPECT_EQ(process("\"observer\""), kObserver);
  for (const char* word : {"-1", "1.0", "\"1\"", "\"client\"", "null", "true", "[1]"}) {
    EXPECT_EQ(refusal(std::string("{\"process\":") + word + ",\"type\":\"info\",\"f\":\"read\"}\n"),
              std::string("h:1:12: expected an integer from 0, \"nemesis\" or \"observer\" as "
                          "\"process\", found ") +
                  (std::string(word) == "null" ? "none" : word));
  }
}

TEST(HistoryIo, AKeyMayBeAnInteger) {
  EXPECT_EQ(op_in(R"({"process":0,"type":"invoke","f":"read","key":12})").key, Symbol("12"));
  EXPECT_EQ(op_in(R"({"process":0,"type":"invoke","f":"read","key":-3})").key, Symbol("-3"));
  EXPECT_EQ(op_in(R"({"process":0,"type":"invoke","f":"read","key":-0})").key, Symbol("0"));
}

TEST(HistoryIo, AnErrorMayBeAWordAndKeepsStrangeFields) {
  EXPECT_EQ(op_in(R"({"process":0,"type":"invoke","f":"read","error":"odd"})").error->cls,
            Symbol("odd"));
  const char* line =
      R"({"process":0,"type":"invoke","f":"read","error":{"code":14,"class":"odd"}})";
  EXPECT_EQ(op_in(line).error->extra.to_json(), R"({"code":14})");
  EXPECT_THAT(line_of(op_in(line)), HasSubstr(R"("error":{"class":"odd","code":14})"));
}

TEST(HistoryIo, ValuesKeepTheirKind) {
  const std::pair<const char*, Value> cases[] = {
      {"null", Value()},
      {"true", true},
      {"0", 0},
      {"-0", 0},
      {"1.0", 1.0},
      {"1e2", 100.0},
      {"-2.5E-1", -0.25},
      {"\"1\"", "1"},
      {"\"\\u00fc\\ud834\\udd1e\\n\"", "ü𝄞\n"},
      {"\"\\u0000\"", std::string_view("\0", 1)},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"[]", Value::array({})},
      {"[ 1 , [ ] ]", Value::array({1, Value::array({})})},
      {"{\"\":{}}", Value::object({{Symbol(), Value::object({})}})},
      {"1e-400", 0.0},
      {"0.1000000000000000055511151231257827021181583404541015625", 0.1},
  };
  for (const auto& [json, value] : cases) {
    const std::string line =
        std::string(R"({"process":0,"type":"invoke","f":"write","value":)") + json + "}";
    EXPECT_EQ(op_in(line).value, value) << json;
  }
}

// Every scanner test goes through parse(), which compares; this one shows that the scanner does
// the work and the library only what is unusual.
TEST(HistoryIo, TheScannerTakesTheUsualLines) {
  const auto scans = [](const std::string& line) {
    Op op;
    return LineScanner().scan(line, op);
  };
  std::string lines;
  for (const Op& op : ops_of(R"(
      0 invoke cas k [1,2] @n1 expected=7 scheduled=0 session=a
      nemesis info start-kill {"shape":{"victims":[["n1","n2"],[]]}}
      observer info status {"node":"n1","stall":1.5}
      0 fail cas k [-1,true] error=conflict text=stale current=9 revision=v1 at=2
      1 invoke write "ü")")) {
    const std::string line = line_of(op);
    EXPECT_TRUE(scans(line.substr(0, line.size() - 1))) << line;
  }
  const char* samples[] = {
      R"({"time":0,"process":23,"type":"invoke","f":"read","value":null})",
      R"({"time": 0, "process": 23, "type": "invoke", "f": "read", "value": [["r", 1, null]]})"};
  for (const char* line : samples) EXPECT_TRUE(scans(line)) << line;
  EXPECT_FALSE(scans(R"({"process":0,"type":"invoke","f":"read","value":"a\n"})"));
}

// Nearly JSON, on lines that are whole but for that.
TEST(HistoryIo, TheScannerTakesNothingThatIsNotJson) {
  const std::string values[] = {"1234567:",
                                "12345678:",
                                "1234567;89",
                                "01",
                                "-",
                                "-01",
                                "--1",
                                "+1",
                                "1.",
                                ".5",
                                "1.e5",
                                "1e",
                                "1e+",
                                "0x1",
                                "1_0",
                                "nul",
                                "truex",
                                "True",
                                "NaN",
                                "inf",
                                "[1,]",
                                "[,1]",
                                "[1 2]",
                                "[",
                                "{\"a\":1,}",
                                "{\"a\"}",
                                "{a:1}",
                                "{\"a\":}",
                                "'a'",
                                "\"a",
                                "\"\t\"",
                                "\"0123\x1f\"",
                                "\"01234567\n\"",
                                "\"\x7f\xff\"",
                                "\"\xc3\"",
                                "\"\xed\xa0\x80\"",
                                "\"\\x\"",
                                "1,",
                                "1}",
                                "1]"};
  LineScanner scanner;
  Op op;
  for (const std::string& value : values) {
    const std::string line = R"({"process":0,"type":"ok","f":"read","value":)" + value + "}";
    EXPECT_FALSE(scanner.scan(line, op)) << line;
    refusal(line + "\n");
  }
}

// Every start of a line, in a buffer of exactly its size: ASan sees a byte too many.
TEST(HistoryIo, TheScannerStopsAtTheEndOfTheLine) {
  const std::string lines[] = {
      R"({"index":12345678,"time":123456789,"process":"observer","type":"info","f":"status","key":12,)"
      R"("value":{"a":[1.5e-3,-7,true,false,null,"ü"],"b":{}},"node":"n1","revision":"v1","at":-3,)"
      R"("expected":4,"error":{"class":"c","text":"t","current":5},"scheduled":6,"session":"s"})",
      R"({"f":"read","type":"ok","process":12})", R"({"process":"nemesis","type":"fail","f":"x"})"};
  LineScanner scanner;
  Op op;
  for (const std::string& line : lines) {
    for (size_t size = 0; size <= line.size(); ++size) {
      const std::vector<char> exact(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(scanner.scan({exact.data(), exact.size()}, op), size == line.size()) << size;
    }
  }
}

// --- What is wrong, and where -----------------------------------------------------------------

struct Wrong {
  const char* line;
  const char* message;  // after "h:1:"
};

TEST(HistoryIo, ErrorsNameLineAndColumn) {
  const Wrong cases[] = {
      {R"({"process":0,"type":"okay","f":"read"})",
       R"(21: expected "invoke", "ok", "fail" or "info" as "type", found "okay")"},
      {R"({"process":0,"type":"ok"})", R"(1: expected a word as "f", found none)"},
      {R"({"process":0,"type":"ok","f":""})", R"(30: expected a word as "f", found "")"},
      {R"({"process":0, "f":null,"type":"ok"})", R"(19: expected a word as "f", found none)"},
      {R"({"process":0,"type":"ok","f":7})", R"(30: expected a word as "f", found 7)"},
      {R"({"type":"ok","f":"read"})",
       R"(1: expected an integer from 0, "nemesis" or "observer" as "process", found none)"},
      {R"({"index":1.0,"process":0,"type":"ok","f":"read"})",
       R"(10: expected an integer from 0 as "index", found 1.0)"},
      {R"({"time":-1,"process":0,"type":"ok","f":"read"})",
       R"(9: expected an integer from 0 as "time", found -1)"},
      {R"({"time":"0","process":0,"type":"ok","f":"read"})",
       R"(9: expected an integer from 0 as "time", found "0")"},
      {R"({"process":0,"type":"ok","f":"read","key":["k"]})",
       R"(43: expected a string as "key", found ["k"])"},
      {R"({"process":0,"type":"ok","f":"read","node":1})",
       R"(44: expected a string as "node", found 1)"},
      {R"({"process":0,"type":"ok","f":"read","revision":1.5})",
       R"(48: expected an integer or a string as "revision", found 1.5)"},
      {R"({"process":0,"type":"ok","f":"read","scheduled":true})",
       R"(49: expected an integer from 0 as "scheduled", found true)"},
      {R"({"process":0,"type":"ok","f":"read","error":[1]})",
       R"(45: expected an object or a string as "error", found [1])"},
      {R"({"process":0,"type":"ok","f":"read","error":{"class": 1}})",
       R"(55: expected a string as "error.class", found 1)"},
      {R"({"process":0,"type":"ok","f":"read","error":{"class":"c","current":{}}})",
       R"(68: expected an integer or a string as "error.current", found {})"},
      {R"({"process":0,"type":"ok","f":"read","f":"read"})",
       R"(37: expected one member of each name, found a second "f")"},
      {R"({"process":0,"type":"ok","f":"read","value":{"a":1 , "a":1}})",
       R"(54: expected one member of each name, found a second "a")"},
      {R"({"process":0,"x":1,"type":"ok","f":"read","x":1})",
       R"(43: expected one member of each name, found a second "x")"},
      {R"({"process":0,"type":"ok","f":"read","value":9223372036854775808})",
       R"(45: expected an integer of at most 64 bits, with sign, found 9223372036854775808)"},
      {R"({"process":0,"type":"ok","f":"read","value":[1,-9223372036854775809]})",
       R"(48: expected an integer of at most 64 bits, with sign, found -9223372036854775809)"},
      {R"({"process":0,"type":"ok","f":"read","value":100000000000000000000000000})",
       R"(45: expected an integer of at most 64 bits, with sign, found 100000000000000000000000000)"},
      {R"({"process":0,"type":"ok","f":"read","value":1e400})",
       R"(45: expected a number that a double can hold, found '1e400')"},
      {R"(17)", R"(1: expected an object, one a line, found 17)"},
      {R"([])", R"(1: expected an object, one a line, found [])"},
      {R"({"process":0,})", R"(14: expected string literal, found '}')"},
      {R"({"process" 0})", R"(12: expected ':', found number literal)"},
      {R"({"process":0,"type":"ok","f":"read","value""x":1})",
       R"(44: expected ':', found string literal)"},
      {R"({"process":})", R"(12: expected '[', '{', or a literal, found '}')"},
      {R"({"process":0] )", R"(13: expected '}', found ']')"},
      {R"({"process":0}{})", R"(14: expected end of input, found '{')"},
      {R"({"process":0} true)", R"(15: expected end of input, found true literal)"},
      {R"({"process":0)", R"(13: expected '}', found end of input)"},
      {R"({"process":01})", R"(13: expected '}', found number literal)"},
      {R"({"process":tru3})", R"(15: expected JSON, found invalid literal in "tru3")"},
      {R"({'process':0})", R"(2: expected JSON, found invalid literal in "'")"},
      {"{\"process\":\"\xff\"}",
       "13: expected JSON, found invalid string: ill-formed UTF-8 byte in \"\\\"\xef\xbf\xbd\""},
      {"{\"f\":\"a\tb\"}",
       "8: expected JSON, found invalid string: control character U+0009 (HT) must be escaped to "
       "\\u0009 or \\t in \"\\\"a\\t\""},
      {"\xef\xbb\xbf\xef\xbb\xbf{}", "1: expected JSON, found a byte order mark"},
      {"\x1f\x8b\x08",
       "1: expected whole gzip data, found its end at byte 4 of the compressed file"},
  };
  for (const Wrong& wrong : cases)
    EXPECT_EQ(refusal(std::string(wrong.line) + "\n"), std::string("h:1:") + wrong.message)
        << wrong.line;
}

TEST(HistoryIo, ErrorsCountLinesFromOneWithTheHeaderAndBlankOnes) {
  const std::string good = R"({"process":0,"type":"invoke","f":"read"})"
                           "\n";
  EXPECT_THAT(refusal(kHeader + "\n" + good + "  \r\n" + "{}\n"), StartsWith("h:5:1: "));
  EXPECT_EQ(refusal(kHeader + good + good),
            "h:3:1: expected the completion of what process 0 invoked at index 0, found another "
            "invocation by it");
}

TEST(HistoryIo, ALongValueIsShortenedInTheError) {
  const std::string large(1000, 'x');
  const std::string message =
      refusal(R"({"process":0,"type":")" + large + R"(","f":"read"})" + "\n");
  EXPECT_LT(message.size(), 250u);
  EXPECT_THAT(message, HasSubstr("xxx…"));
}

TEST(HistoryIo, ANulByteIsDamage) {
  const std::string good = R"({"process":0,"type":"invoke","f":"read"})";
  EXPECT_EQ(refusal(good + std::string(1, '\0') + "\n"), "h:1:41: expected JSON, found a NUL byte");
  EXPECT_EQ(refusal(good + "\n" + std::string(8, '\0')), "h:2:1: expected JSON, found a NUL byte")
      << "a tail of zeros is not a line that was cut off";
  EXPECT_THAT(refusal(std::string("{\"f\":\"\0\"}\n", 10)), StartsWith("h:1:7: "));
}

TEST(HistoryIo, NestingHasALimit) {
  const auto nested = [](size_t depth) {
    return R"({"process":0,"type":"invoke","f":"write","value":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}\n";
  };
  parsed(nested(kDepthMax - 1));
  EXPECT_EQ(refusal(nested(kDepthMax)), "h:1:" + std::to_string(49 + kDepthMax) +
                                            ": expected at most 128 levels of nesting, "
                                            "found more");
  EXPECT_THAT(refusal(nested(1'000'000)), HasSubstr("levels of nesting"));
}

// --- The file as a whole -----------------------------------------------------------------------

TEST(HistoryIo, AHeaderAloneIsAHistoryOfNothing) {
  const History history = parsed(kHeader);
  EXPECT_TRUE(history.header().present);
  EXPECT_EQ(history.events(), 0u);
  EXPECT_THAT(history.warnings(), IsEmpty());
  EXPECT_TRUE(parsed(kHeader.substr(0, kHeader.size() - 1)).header().present);
}

TEST(HistoryIo, NothingIsAnError) {
  EXPECT_EQ(refusal(""), "h:1:1: expected a header or an operation, found nothing");
  EXPECT_EQ(refusal("\n \r\n"), "h:3:1: expected a header or an operation, found nothing");
}

TEST(HistoryIo, AFileWithoutHeaderIsAccepted) {
  const History history = parsed(R"({"process":0,"type":"invoke","f":"write","value":1}
{"process":0,"type":"ok","f":"write","value":1}
)");
  EXPECT_FALSE(history.header().present);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].invoke_index(), 0);
  EXPECT_EQ(history[0].return_index(), 1);
  EXPECT_EQ(history[0].invoke_time(), Nanos{-1});
}

TEST(HistoryIo, LinesWithoutIndexHaveTheirPosition) {
  const History history = parsed(R"({"process":0,"type":"invoke","f":"read"}
{"process":"nemesis","type":"info","f":"kill"}
{"process":"observer","type":"info","f":"status"}
{"process":"nemesis","type":"info","f":"kill"}
{"process":0,"type":"ok","f":"read"}
)");
  std::vector<int64_t> indexes;
  history.for_each_line([&indexes](const Op& op) { indexes.push_back(op.index); });
  EXPECT_THAT(indexes, ElementsAre(0, 1, 2, 3, 4));
}

TEST(HistoryIo, LineEndsBlankLinesAndAByteOrderMarkDoNotMatter) {
  const std::string a = R"({"process":0,"type":"invoke","f":"write","value":1})";
  const std::string b = R"({"process":0,"type":"ok","f":"write","value":1})";
  const std::string wanted = lines_of(parsed(a + "\n" + b + "\n"));
  for (const std::string& text :
       {a + "\n" + b, a + "\r\n" + b + "\r\n", "\n\n" + a + "\n \t\n" + b + "\n\n",
        "\xef\xbb\xbf" + a + "\n" + b + "\n", a + "\n" + b + "\n   "}) {
    EXPECT_EQ(lines_of(parsed(text)), wanted) << text;
    EXPECT_THAT(parsed(text).warnings(), IsEmpty()) << text;
  }
}

TEST(HistoryIo, ALastLineThatIsCutOffIsDroppedWithAWarning) {
  const std::string first = R"({"process":0,"type":"invoke","f":"write","key":"ü","value":1})"
                            "\n";
  const std::string last =
      R"({"time":7,"process":0,"type":"ok","f":"write","key":"ü\n","value":[1,2.5e3,true],)"
      R"("revision":-1,"error":{"class":"\ud834\udd1e"},"x":{"y":null}})";
  for (size_t size = 1; size < last.size(); ++size) {
    const History history = parsed(first + last.substr(0, size));
    ASSERT_EQ(history.events(), 1u) << size;
    EXPECT_EQ(history[0].type(), OpType::kInfo);
    EXPECT_EQ(history[0].return_position(), kOpen);
    EXPECT_THAT(history.warnings(), ElementsAre("torn_tail: the last line, 2, is cut off after " +
                                                std::to_string(size) + " bytes and was dropped"));
  }
  EXPECT_THAT(refusal(first + last), HasSubstr("h:2:")) << "whole, and its key is another";
}

TEST(HistoryIo, AnyOtherDamageOfTheLastLineIsAnError) {
  const std::string first = R"({"process":0,"type":"invoke","f":"write"})"
                            "\n";
  EXPECT_THAT(refusal(first + R"({"process":0,)" + "\n"), StartsWith("h:2:14: "))
      << "cut off, but a newline follows";
  EXPECT_THAT(refusal(first + R"({"process":0,]})"), StartsWith("h:2:14: "));
  EXPECT_THAT(refusal(first + "x"), StartsWith("h:2:1: "));
  EXPECT_THAT(refusal(first + "{}"), StartsWith("h:2:1: "));
  EXPECT_THAT(refusal(R"({"process":0,)"), StartsWith("h:1:14: ")) << "nothing came before it";
  parsed(kHeader + R"({"process":0,)");
}

TEST(HistoryIo, TheHeaderIsRead) {
  const History history = parsed(
      R"({"format":"assay-history","version":1,"time_unit":"ns","target":"raft","workload":"register",)"
      R"("checkers":["linearizable","stats"],"model":"cas-register","initial":{"k":0},)"
      R"("failed_cas":"ignore","null_read":"unknown","token":"orderable","nodes":["n1","n2"],)"
      R"("faults":["kill"],"seed":42,"claims":{"read":"linearizable"},"mood":"good"})");
  const HistoryHeader& header = history.header();
  EXPECT_TRUE(header.present);
  EXPECT_EQ(header.target, "raft");
  EXPECT_EQ(header.workload, "register");
  EXPECT_THAT(header.checkers, ElementsAre("linearizable", "stats"));
  EXPECT_EQ(header.model, "cas-register");
  EXPECT_EQ(header.initial_of(Symbol("k")), Value(0));
  EXPECT_FALSE(header.failed_cas_observes);
  EXPECT_FALSE(header.null_read_is_value);
  EXPECT_TRUE(header.token_orderable);
  EXPECT_THAT(header.nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(header.faults, ElementsAre("kill"));
  EXPECT_EQ(header.seed, 42u);
  EXPECT_EQ(header.raw["claims"]["read"], Value("linearizable"));
  EXPECT_EQ(header.raw["mood"], Value("good"));
}

TEST(HistoryIo, AHeaderThatIsNotOursIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"format":"other","version":1})",
       R"(h:1:11: expected "assay-history" as "format", found "other")"},
      {R"({"format":"assay-history","version":2})", R"(h:1:37: expected 1 as "version", found 2)"},
      {R"({"format":"assay-history","version":"1"})",
       R"(h:1:37: expected 1 as "version", found "1")"},
      {R"({"format":"assay-history"})", R"(h:1:1: expected 1 as "version", found none)"},
      {R"({"format":"assay-history","version":1,"time_unit":"ms"})",
       R"(h:1:51: expected "ns" as "time_unit", found "ms")"},
      {R"({"format":"assay-history","version":1,"model":1})",
       R"(h:1:47: expected a string as "model", found 1)"},
      {R"({"format":"assay-history","version":1,"claims":7})",
       R"(h:1:48: expected an object whose "read" is linearizable, sequential or stale as "claims", found 7)"},
      {R"({"format":"assay-history","version":1,"claims":{"read":"fresh"}})",
       R"(h:1:48: expected an object whose "read" is linearizable, sequential or stale as "claims", found {"read":"fresh"})"},
      {R"({"format":"assay-history","version":1,"nodes":["n1",2]})",
       R"(h:1:47: expected an array of strings as "nodes", found ["n1",2])"},
      {R"({"format":"assay-history","version":1,"failed_cas":"maybe"})",
       R"(h:1:52: expected "observe" or "ignore" as "failed_cas", found "maybe")"},
      {R"({"format":"assay-history","version":1,"seed":-1})",
       R"(h:1:46: expected an integer from 0 as "seed", found -1)"},
  };
  for (const auto& [line, message] : cases) EXPECT_EQ(refusal(std::string(line) + "\n"), message);
}

TEST(HistoryIo, ASecondHeaderIsAnError) {
  EXPECT_EQ(refusal(kHeader + kHeader), "h:2:1: expected an operation, found a header");
}

TEST(HistoryIo, AnOperationMayHaveAFieldNamedFormat) {
  EXPECT_EQ(op_in(R"({"process":0,"type":"invoke","f":"read","format":"x"})").extra.to_json(),
            R"({"format":"x"})");
}

// --- Files -------------------------------------------------------------------------------------

class HistoryFile : public ::testing::Test {
 protected:
  HistoryFile() {
    char name[] = "/tmp/assay-history-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~HistoryFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name = "history.jsonl") const { return folder_ + "/" + name; }
  void put(const std::string& text) const { std::ofstream(path()) << text; }
  std::string text() const {
    std::stringstream stream;
    stream << std::ifstream(path()).rdbuf();
    return stream.str();
  }

  std::string folder_;
};

TEST_F(HistoryFile, IsReadAcrossTheEdgesOfTheBuffer) {
  std::string text = kHeader;
  Op op = op_of("0 invoke write k");
  for (int i = 0; i < 3'000; ++i) {
    op.index = 2 * i;
    op.type = OpType::kInvoke;
    op.value = std::string(i % 700, 'x') + std::to_string(i);
    append_line(text, op);
    op.index = 2 * i + 1;
    op.type = OpType::kOk;
    append_line(text, op);
  }
  op.index = 6'000;
  op.type = OpType::kInvoke;
  op.value = std::string(3 << 20, 'y');  // longer than any buffer at first
  append_line(text, op);
  put(text);
  const Result<History> history = read_history(path());
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_EQ(history->events(), 6'001u);
  EXPECT_TRUE(kHeader + lines_of(*history) == text);
  put(text.substr(0, text.size() - 10));
  const Result<History> torn = read_history(path());
  ASSERT_TRUE(torn.ok());
  EXPECT_EQ(torn->events(), 6'000u);
  EXPECT_THAT(torn->warnings(), ElementsAre(StartsWith("torn_tail: the last line, 6002,")));
}

TEST_F(HistoryFile, ErrorsNameTheFile) {
  put(kHeader + "{}\n");
  EXPECT_THAT(read_history(path()).error().message, StartsWith(path() + ":2:1: expected"));
  EXPECT_THAT(read_history(path("missing")).error().message,
              HasSubstr("cannot open " + path("missing") + ": No such file"));
  EXPECT_EQ(read_history(path("missing")).error().fault, Fault::kInput);
  EXPECT_THAT(read_history(folder_).error().message, HasSubstr("Is a directory"));
  EXPECT_EQ(read_history(folder_).error().fault, Fault::kInput);
  put("");
  EXPECT_THAT(read_history(path()).error().message, HasSubstr("found nothing"));
}

TEST_F(HistoryFile, IsReadFromStandardInput) {
  put(kHeader + "{}\n");
  const int saved = dup(STDIN_FILENO);
  const int fd = open(path().c_str(), O_RDONLY);
  dup2(fd, STDIN_FILENO);
  const Result<History> history = read_history("-");
  dup2(saved, STDIN_FILENO);
  close(fd);
  close(saved);
  EXPECT_THAT(history.error().message, StartsWith("<stdin>:2:1: "));
}

TEST_F(HistoryFile, TooLargeForMemoryIsAnError) {
  std::string text = kHeader;
  Op op = op_of("0 invoke write k 1");
  for (int i = 0; i < 20'000; ++i) {
    op.type = i % 2 == 0 ? OpType::kInvoke : OpType::kOk;
    op.index = i;
    append_line(text, op);
  }
  for (bool library_only : {false, true}) {
    ReadOptions options{.library_only = library_only, .memory_bytes_max = 300'000};
    const Result<History> refused = parse_history(text, "h", options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().fault, Fault::kInput);
    EXPECT_THAT(refused.error().message, HasSubstr("300000 bytes of memory"));
    options.memory_bytes_max = 4 << 20;
    EXPECT_TRUE(parse_history(text, "h", options).ok());
  }
  put(kHeader + R"({"process":0,"type":"invoke","f":"write","value":")" +
      std::string(8 << 20, 'x') + "\"}\n");
  EXPECT_THAT(read_history(path(), {.memory_bytes_max = 1 << 20}).error().message,
              HasSubstr("bytes of memory"))
      << "a single line";
}

TEST_F(HistoryFile, DistinctTextsCountAsMemory) {
  for (bool library_only : {false, true}) {
    std::string text;
    Op op = op_of("0 invoke write k");
    for (int i = 0; i < 10'000; ++i) {
      op.process = {i};
      op.index = i;
      op.value = "memory " + std::string(400, library_only ? 'x' : 'y') + std::to_string(i);
      append_line(text, op);
    }
    // The records take less than 1 MB, the texts 4 MB, which this process has seen already.
    EXPECT_TRUE(parse_history(text, "h", {library_only, 3 << 20}).ok());
    for (size_t at = 0; (at = text.find("memory", at)) != text.npos; ++at) text[at] = 'M';
    EXPECT_FALSE(parse_history(text, "h", {library_only, 3 << 20}).ok());
  }
}

TEST_F(HistoryFile, WritesTheHeaderAtOnceAndLinesAtFlush) {
  HistoryWriter writer;
  ASSERT_TRUE(writer.open(path(), Value::object({{Symbol("target"), "raft"}})).ok());
  const std::string header =
      "{\"format\":\"assay-history\",\"version\":1,\"time_unit\":\"ns\",\"target\":\"raft\"}\n";
  EXPECT_EQ(text(), header);
  const Op op = op_of("0 invoke read k");
  ASSERT_TRUE(writer.add(op).ok());
  EXPECT_EQ(text(), header) << "in the buffer";
  ASSERT_TRUE(writer.flush().ok());
  EXPECT_EQ(text(), header + line_of(op));
  ASSERT_TRUE(writer.add(op).ok());
  ASSERT_TRUE(writer.close().ok());
  EXPECT_EQ(text(), header + line_of(op) + line_of(op));
  ASSERT_TRUE(writer.open(path(), {}).ok()) << "again";
  EXPECT_EQ(text(), "{\"format\":\"assay-history\",\"version\":1,\"time_unit\":\"ns\"}\n");
}

TEST_F(HistoryFile, AFullBufferIsWrittenWithoutFlush) {
  HistoryWriter writer;
  ASSERT_TRUE(writer.open(path(), {}).ok());
  std::string wanted = text();
  const Op op = op_of("0 invoke read k");
  while (text().size() == header_line({}).size() && wanted.size() < (10u << 20)) {
    ASSERT_TRUE(writer.add(op).ok());
    append_line(wanted, op);
  }
  EXPECT_EQ(text(), wanted) << "whole lines";
  EXPECT_LE(wanted.size(), 1u << 20);
}

TEST_F(HistoryFile, CanBeOpenedAgainAfterAnError) {
  HistoryWriter writer;
  ASSERT_FALSE(writer.open(path("no/history.jsonl"), {}).ok());
  ASSERT_TRUE(writer.open(path(), {}).ok());
  EXPECT_TRUE(writer.add(op_of("0 invoke read k")).ok());
  EXPECT_TRUE(writer.close().ok());
  EXPECT_EQ(parsed(text()).events(), 1u);
}

TEST_F(HistoryFile, WhatTheDestructorLeavesIsComplete) {
  {
    HistoryWriter writer;
    ASSERT_TRUE(writer.open(path(), {}).ok());
    ASSERT_TRUE(writer.add(op_of("0 invoke read k")).ok());
  }
  EXPECT_EQ(parsed(text()).events(), 1u);
}

TEST_F(HistoryFile, AFullDiskSticksAndNamesTheFile) {
  HistoryWriter writer;
  const Result<void> opened = writer.open("/dev/full", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_EQ(opened.error().fault, Fault::kEnvironment);
  EXPECT_EQ(writer.add(op_of("0 invoke read k")).error().message, opened.error().message);
  EXPECT_EQ(writer.flush().error().message, opened.error().message);
  EXPECT_EQ(writer.close().error().message, opened.error().message);
}

// The disk fills up in the middle of a run: what was written before stays readable.
TEST_F(HistoryFile, ADiskThatFillsUpLeavesAReadableFile) {
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &small);
  HistoryWriter writer;
  Result<void> result = writer.open(path(), {});
  Op op = op_of("0 invoke read k");
  for (int i = 0; i < 10'000 && result.ok(); ++i) {
    op.type = i % 2 == 0 ? OpType::kInvoke : OpType::kOk;
    op.index = i;
    result = writer.add(op);
  }
  const Result<void> closed = writer.close();
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "cannot write " + path() + ": File too large");
  EXPECT_EQ(closed.error().message, result.error().message);
  const Result<History> history = read_history(path());
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_GT(history->events(), 500u);
}

TEST_F(HistoryFile, AFolderThatIsMissingIsAnError) {
  HistoryWriter writer;
  EXPECT_EQ(writer.open(path("no/history.jsonl"), {}).error().message,
            "cannot create " + path("no/history.jsonl") + ": No such file or directory");
  EXPECT_FALSE(writer.add(op_of("0 invoke read k")).ok());
  EXPECT_FALSE(writer.close().ok());
}

TEST(HistoryIoDeathTest, AnExtraFieldWithTheNameOfAnotherAborts) {
  EXPECT_DEATH(line_of(op_of("0 invoke read k type=1")), "\"type\" has a field of its own");
}

// --- Values ------------------------------------------------------------------------------------

TEST(ParseValue, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(parse_value(" [1, 2.5] ")->to_json(), "[1,2.5]");
  EXPECT_EQ(parse_value("[1,]").error().message,
            "column 4: expected '[', '{', or a literal, found ']'");
  EXPECT_EQ(parse_value("").error().message,
            "column 1: expected '[', '{', or a literal, found end of input");
  EXPECT_EQ(parse_value("1 2").error().message,
            "column 3: expected end of input, found number literal");
  EXPECT_EQ(parse_value("[1, {\"a\":1, \"a\":2}]").error().message,
            "column 13: expected one member of each name, found a second \"a\"");
}

}  // namespace
}  // namespace assay
