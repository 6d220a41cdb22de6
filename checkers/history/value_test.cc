#include "checkers/history/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "checkers/history/history_io.h"
#include "checkers/history/rng.h"

namespace assay {
namespace {

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value::Object out;
  for (const auto& [name, value] : members) out.emplace_back(Symbol(name), value);
  return Value::object(std::move(out));
}

TEST(Value, DifferentKindsAreNeverEqual) {
  const Value values[] = {nullptr,
                          true,
                          false,
                          0,
                          1,
                          1.5,
                          -0.5,
                          "",
                          "1",
                          "true",
                          "null",
                          Value::array({}),
                          Value::array({1}),
                          Value::array({1.5}),
                          object({}),
                          object({{"1", 1}})};
  for (size_t i = 0; i < std::size(values); ++i)
    for (size_t j = 0; j < std::size(values); ++j)
      EXPECT_EQ(values[i] == values[j], i == j)
          << values[i].to_json() << ' ' << values[j].to_json();
}

TEST(Value, EqualityLooksInside) {
  EXPECT_EQ(Value::array({1, "a", nullptr}), Value::array({1, "a", nullptr}));
  EXPECT_NE(Value::array({1, "a"}), Value::array({"a", 1}));
  EXPECT_NE(Value::array({1}), Value::array({1, 1}));
  EXPECT_NE(Value::array({Value::array({1})}), Value::array({Value::array({1.5})}));
  EXPECT_EQ(Value(0.0), Value(-0.0));
  EXPECT_EQ(Value(0.0).hash(), Value(-0.0).hash());
}

TEST(Value, AWholeNumberIsOneHoweverItIsWritten) {
  for (int64_t whole :
       {int64_t{0}, int64_t{1}, int64_t{-7}, int64_t{1} << 53, -(int64_t{1} << 53)}) {
    const auto written_as_double = static_cast<double>(whole);
    EXPECT_EQ(Value(whole), Value(written_as_double));
    EXPECT_EQ(Value(written_as_double), Value(whole));
    EXPECT_EQ(Value(whole).hash(), Value(written_as_double).hash());
    EXPECT_EQ(Value::array({whole}).hash(), Value::array({written_as_double}).hash());
  }
  // Beyond, several integers are one double.
  EXPECT_NE(Value((int64_t{1} << 53) + 1), Value(9007199254740992.0));
  EXPECT_NE(Value(INT64_MAX), Value(9223372036854775808.0));
  EXPECT_NE(Value(1), Value(1.5));
}

TEST(Value, ObjectsAreEqualInAnyOrder) {
  const Value a = object({{"x", 1}, {"y", Value::array({1, 2})}});
  const Value b = object({{"y", Value::array({1, 2})}, {"x", 1}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(a.to_json(), R"({"x":1,"y":[1,2]})") << "the order of writing is kept";
  EXPECT_NE(a, object({{"x", 1}}));
  EXPECT_NE(a, object({{"x", 1}, {"z", Value::array({1, 2})}}));
  EXPECT_NE(a, object({{"x", 2}, {"y", Value::array({1, 2})}}));
  EXPECT_NE(object({{"x", nullptr}}), object({{"y", nullptr}}));
}

TEST(Value, LargeObjectsAreEqualInAnyOrderToo) {
  Value::Object up;
  Value::Object down;
  for (int i = 0; i < 100; ++i) up.emplace_back(Symbol(std::to_string(i)), i);
  for (int i = 99; i >= 0; --i) down.emplace_back(Symbol(std::to_string(i)), i);
  EXPECT_EQ(Value::object(up), Value::object(down));
  EXPECT_EQ(Value::object(up).hash(), Value::object(down).hash());
  down[50].second = -1;
  EXPECT_NE(Value::object(up), Value::object(down));
}

TEST(Value, HashesSpread) {
  std::unordered_map<uint64_t, int64_t> seen;
  for (int64_t i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(seen.emplace(Value(i).hash(), i).second) << i;
    EXPECT_TRUE(seen.emplace(Value::pair(i, i + 1).hash(), i).second) << i;
  }
  EXPECT_NE(Value::pair(1, 2).hash(), Value::pair(2, 1).hash());
}

TEST(Value, DoublesReadBackAsTheSameDouble) {
  const std::pair<double, const char*> cases[] = {
      {1.0, "1.0"},       {-1.0, "-1.0"},
      {0.1, "0.1"},       {1e22, "1e+22"},
      {-0.0, "-0.0"},     {0.5, "0.5"},
      {1e-7, "1e-07"},    {123456789.0, "123456789.0"},
      {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(Value(number).to_json(), text);
  Rng rng(7);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bits = rng.next();
    double number;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    const Result<Value> back = parse_value(Value(number).to_json());
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_TRUE(back->is_double()) << Value(number).to_json();
    ASSERT_EQ(back->as_double(), number);
  }
}

TEST(Value, JsonReadsBackAsAnEqualValue) {
  const Value value =
      object({{"null", nullptr},
              {"ints", Value::array({0, -1, std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max()})},
              {"text", "quote \" slash \\ tab \t newline \n bell \a nul-free ü € 𝄞"},
              {"deep", Value::array({Value::array({object({{"a", object({})}})})})},
              {"double", 2.5},
              {"flag", false}});
  const std::string json = value.to_json();
  EXPECT_EQ(json.find('\n'), json.npos) << "one line";
  const Result<Value> back = parse_value(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, value);
  EXPECT_EQ(back->to_json(), json);
}

TEST(Value, WhatIsEqualIsTheSameTextWhenNormalized) {
  const std::pair<const char*, const char*> equal[] = {
      {R"({"b":1,"a":[2.0]})", R"({"a":[2],"b":1.0})"}, {"[1.0,[-0.0]]", "[1,[0]]"}, {"1e2", "100"}};
  for (const auto& [one, other] : equal) {
    const Value a = *parse_value(one), b = *parse_value(other);
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.normalized().to_json(), b.normalized().to_json());
    EXPECT_EQ(a.normalized(), a);
  }
  EXPECT_NE(parse_value("[1]")->normalized().to_json(), parse_value("[\"1\"]")->normalized().to_json());
  EXPECT_EQ(Value(1.5).normalized().to_json(), "1.5");
}

TEST(Value, MembersAreReadByName) {
  const Value value = object({{"a", 1}, {"b", "x"}, {"c", true}});
  EXPECT_EQ(value["a"], Value(1));
  EXPECT_TRUE(value["missing"].is_null());
  EXPECT_TRUE(Value(3)["a"].is_null());
  EXPECT_EQ(value.int_or("a", 9), 1);
  EXPECT_EQ(value.int_or("b", 9), 9);
  EXPECT_EQ(value.text_or("b", "y"), "x");
  EXPECT_EQ(value.text_or("a", "y"), "y");
  EXPECT_TRUE(value.bool_or("c", false));
  EXPECT_TRUE(value.bool_or("a", true));
}

TEST(Value, JsonStringsEscapeWhatJsonWants) {
  const auto json = [](std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  EXPECT_EQ(json("plain"), R"("plain")");
  EXPECT_EQ(json("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(json(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(json("ü€𝄞"), "\"ü€𝄞\"");
  EXPECT_EQ(json("a\xff"), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(json("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "overlong";
  EXPECT_EQ(json("\xed\xa0\x80z"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"") << "surrogate";
  EXPECT_EQ(json("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "cut off";
}

TEST(ValueDeathTest, AMistakeAbortsWithTheValue) {
  EXPECT_DEATH((void)Value("seven").as_int(), "an integer was wanted, the value is \"seven\"");
  EXPECT_DEATH((void)Value(7).as_array(), "an array was wanted, the value is 7");
  EXPECT_DEATH(Value(std::nan("")), "JSON has no number");
  EXPECT_DEATH(object({{"a", 1}, {"a", 2}}), "two members named \"a\"");
}

}  // namespace
}  // namespace assay
