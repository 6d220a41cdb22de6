#include "checkers/history/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Value parsed(std::string_view text) {
  Result<Value> value = parse_json(text, "x.json");
  EXPECT_TRUE(value.ok()) << value.error().message;
  return value.ok() ? *value : Value();
}

TEST(JsonText, EveryKindOfValueIsReadAndKeepsItsOrder) {
  const Value value =
      parsed(R"({"z": [1, -2, 2.5, true, null], "a": {"text": "\u00e9\n"}, "e": [], "o": {}})");
  EXPECT_EQ(value.to_json(), R"({"z":[1,-2,2.5,true,null],"a":{"text":"é\n"},"e":[],"o":{}})");
}

TEST(JsonText, PrettyTextReadsBackAsTheSame) {
  const Value value = parsed(
      R"({"long": [{"a": [1, 2, [3]]}, "a text that is long enough not to fit on one line with others of its kind"],
          "empty": {}, "n": -9223372036854775808, "quote\"": "\u0001"})");
  const std::string text = pretty_json(value);
  EXPECT_EQ(parsed(text), value);
  EXPECT_THAT(text, HasSubstr("\n  \"empty\": {},\n"));
  EXPECT_EQ(text.back(), '\n');
}

struct Bad {
  const char* text;
  const char* message;
};

TEST(JsonText, AnErrorSaysWhereAndWhat) {
  const Bad kBad[] = {
      {"", "x.json:1:1: not JSON: "},
      {"{\n  \"a\": 1,\n  \"b\": }", "x.json:3:8: not JSON: "},
      {"{\"a\": 1} x", "x.json:1:10: not JSON: "},
      {"[1,\n 18446744073709551615]",
       "x.json:2:2: expected an integer of 64 bits with sign, found 18446744073709551615"},
      {"[123456789012345678901234567890]",
       "x.json:1:2: expected an integer of 64 bits with sign, found "
       "123456789012345678901234567890"},
      {"{\"a\": 1,\n \"a\": 2}", "x.json:2:2: expected each member once, found \"a\" twice"},
      {"{\"a\": 1e999}", "x.json:1:"},
      {"\"\xff\"", "x.json:1:"},
  };
  for (const Bad& bad : kBad) {
    Result<Value> value = parse_json(bad.text, "x.json");
    ASSERT_FALSE(value.ok()) << bad.text;
    EXPECT_THAT(value.error().message, StartsWith(bad.message));
    EXPECT_EQ(value.error().fault, Fault::kInput);
    EXPECT_EQ(value.error().message.find('\n'), std::string::npos);
  }
}

TEST(JsonText, NestingWithoutEndIsRefusedBeforeTheStackIsSpent) {
  EXPECT_THAT(parse_json(std::string(1'000'000, '['), "x").error().message,
              HasSubstr("expected at most 200 levels"));
}

TEST(JsonText, APathLeadsToItsPlaceInTheText) {
  constexpr std::string_view kText = R"({
  "first": "a } ] \" brace",
  "second": [ {"x": 1}, [2, {"n\u0061me" : {"deep": true}}] ],
  "third": null
})";
  using Path = std::vector<std::string>;
  EXPECT_EQ(locate_json(kText, Path{}, false), "1:1");
  EXPECT_EQ(locate_json(kText, Path{"first"}, true), "2:3");
  EXPECT_EQ(locate_json(kText, Path{"first"}, false), "2:12");
  EXPECT_EQ(locate_json(kText, Path{"second", "0", "x"}, false), "3:21");
  EXPECT_EQ(locate_json(kText, Path{"second", "1", "1", "name", "deep"}, true), "3:45");
  EXPECT_EQ(locate_json(kText, Path{"third"}, false), "4:12");
  EXPECT_EQ(locate_json(kText, Path{"second", "7"}, false), "3:13");  // as far as it leads
  EXPECT_EQ(locate_json(kText, Path{"absent"}, true), "1:1");
}

}  // namespace
}  // namespace assay
