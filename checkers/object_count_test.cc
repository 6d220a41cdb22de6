#include <gtest/gtest.h>

#include "checkers/checker.h"
#include "checkers/history/history_io.h"

namespace assay {
namespace {

constexpr const char* kHeader =
    R"({"format":"assay-history","version":1,"time_unit":"ns","workload":"controller"})";

Verdict judged(const std::string& lines) {
  auto history = parse_history(std::string(kHeader) + "\n" + lines);
  EXPECT_TRUE(history.ok()) << history.error().message;
  return find_checker("object-count")->check(*history, {});
}

std::string wish(int process, int number, const char* outcome) {
  const std::string p = std::to_string(process), n = std::to_string(number);
  return R"({"process":)" + p + R"(,"type":"invoke","f":"write","key":"k1/wanted","value":)" + n + "}\n" +
         R"({"process":)" + p + R"(,"type":")" + outcome + R"(","f":"write","key":"k1/wanted","value":)" + n + "}\n";
}
std::string list(const std::string& rows) {
  return R"({"process":9,"type":"invoke","f":"list","key":"k1/"})" "\n"
         R"({"process":9,"type":"ok","f":"list","key":"k1/","value":[)" + rows + "]}\n";
}
const std::string kTwo = R"(["k1/object/1",1,4],["k1/object/2",1,5],["k1/wanted",2,3])";

TEST(ObjectCount, AsManyAsWereAskedForAreValid) {
  EXPECT_EQ(judged(wish(1, 2, "ok") + list(kTwo)).word(), Word::kValid);
}

TEST(ObjectCount, OneMoreIsTooMany) {
  const Verdict verdict = judged(wish(1, 1, "ok") + list(kTwo));
  ASSERT_EQ(verdict.word(), Word::kInvalid);
  EXPECT_EQ(verdict.worst()->witness->lines[0],
            "p9 found 2 objects where at most 1 had been asked for (index 2 to 3)");
}

TEST(ObjectCount, AWishOfUnknownOutcomeMayHaveBeenSeen) {
  EXPECT_EQ(judged(wish(1, 1, "ok") + wish(2, 2, "info") + list(kTwo)).word(), Word::kValid);
  EXPECT_EQ(judged(wish(1, 1, "ok") + wish(2, 2, "fail") + list(kTwo)).word(), Word::kInvalid);
}

TEST(ObjectCount, AWishThatCameLaterExcusesNothing) {
  EXPECT_EQ(judged(wish(1, 1, "ok") + list(kTwo) + wish(1, 2, "ok")).word(), Word::kInvalid);
}

TEST(ObjectCount, WithoutObjectsItIsVacuous) {
  EXPECT_EQ(judged(wish(1, 1, "ok") + list("")).word(), Word::kVacuous);
}

}  // namespace
}  // namespace assay
