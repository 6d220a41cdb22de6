// `assay check` of a file alone: the page, the proof, and what goes where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kValid = R"({"process":0,"type":"invoke","f":"write","key":"k","value":1}
{"process":0,"type":"ok","f":"write","key":"k","value":1}
{"process":1,"type":"invoke","f":"read","key":"k"}
{"process":1,"type":"ok","f":"read","key":"k","value":1}
)";
constexpr const char* kStale = R"({"process":2,"type":"invoke","f":"read","key":"k"}
{"process":2,"type":"ok","f":"read","key":"k"}
)";

class Check : public testing::Test {
 protected:
  Check() {
    std::ofstream(in("valid.jsonl")) << kValid;
    std::ofstream(in("invalid.jsonl")) << kValid << kStale;
  }
  std::string in(const std::string& name) const { return scratch_.path() + "/" + name; }
  static Ended check(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return run(assay(std::move(arguments)));
  }

  ScratchFolder scratch_;
};

TEST_F(Check, APageOfAHistoryDrawsTheWitnessAndTheLastLegalOrder) {
  const Ended ended = check({in("invalid.jsonl"), "--html", "-o", in("x.html")});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("INVALID: Stale read of k."));
  const std::string page = text_of_file(in("x.html"));
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("The last legal order"));
  EXPECT_THAT(page, HasSubstr("assay check " + in("invalid.jsonl")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  const Ended to_output = check({in("invalid.jsonl"), "--html", "-o", "-"});
  EXPECT_THAT(to_output.out, StartsWith("<!doctype html>"));
  EXPECT_THAT(to_output.err, HasSubstr("INVALID"));
}

TEST_F(Check, JsonNamesTheWitnessAndTheOrderByIndexes) {
  const Value json = check({in("invalid.jsonl"), "--json"}).json();
  const Value& order = json["witness"]["last_order"];
  EXPECT_EQ(order["steps"].as_array()[0]["state"].as_text(), "1");
  EXPECT_EQ(order["breaks"].as_int(), 4);
  EXPECT_EQ(json["weaker"].as_array().size(), 2u);
}

TEST_F(Check, AProofIsWrittenAndStandsUpInPython) {
  const Ended ended = check({in("valid.jsonl"), "--proof", in("proof.jsonl")});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Ended verified = run({.argv = {"/usr/bin/python3", ASSAY_SOURCE_DIR "/checkers/verify_proof.py",
                                       in("valid.jsonl"), in("proof.jsonl")}});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, StartsWith("verified: 2 operations in 1 orders"));
  const Ended none = check({in("invalid.jsonl"), "--proof", in("none.jsonl")});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.out, HasSubstr("no proof of k: not valid\n"));
}

TEST_F(Check, AProofOfOneKeySaysWhatItLeavesOut) {
  const std::string file = in("two.jsonl");
  std::ofstream(file) << kValid << kStale
                      << R"({"process":0,"type":"invoke","f":"read","key":"other"}
{"process":0,"type":"ok","f":"read","key":"other"}
)";
  EXPECT_EQ(check({file, "--key", "other", "--proof", in("proof.jsonl")}).code, 0);
  const auto verify = [&] {
    return run({.argv = {"/usr/bin/python3", ASSAY_SOURCE_DIR "/checkers/verify_proof.py", file,
                         in("proof.jsonl")}});
  };
  const Ended verified = verify();
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, StartsWith("verified: 1 operations in 1 orders"));
  EXPECT_THAT(verified.out, HasSubstr("left out: 3 operations on other keys than \"other\""));
  // The key that the proof is said to be of.
  std::string proof = text_of_file(in("proof.jsonl"));
  const std::string named = R"("only_key":"other")";
  ASSERT_NE(proof.find(named), proof.npos);
  std::ofstream(in("proof.jsonl"))
      << proof.replace(proof.find(named), named.size(), R"("only_key":"k")");
  EXPECT_EQ(verify().code, 1);
}

TEST_F(Check, EqualElementsOfASetAreOne) {
  std::ofstream(in("set.jsonl")) << R"({"process":0,"type":"invoke","f":"add","value":{"b":[1.0],"a":2}}
{"process":0,"type":"ok","f":"add","value":{"b":[1.0],"a":2}}
{"process":0,"type":"invoke","f":"read"}
{"process":0,"type":"ok","f":"read","value":[{"a":2,"b":[1]}]}
)";
  EXPECT_EQ(check({in("set.jsonl"), "--model", "set"}).code, 0);
}

TEST_F(Check, ACheckOfAPartOfARunLeavesItsVerdict) {
  std::filesystem::create_directory(in("run"));
  std::ofstream(in("run/spec.json")) << R"({"format":"assay-spec","version":1})";
  std::ofstream(in("run/history.jsonl")) << kValid << kStale
                                         << R"({"process":0,"type":"invoke","f":"read","key":"other"}
{"process":0,"type":"ok","f":"read","key":"other"}
)";
  const Ended whole = check({in("run")});
  EXPECT_EQ(whole.code, 1) << whole.err;
  const std::string verdict = text_of_file(in("run/verdict.json"));
  EXPECT_THAT(verdict, HasSubstr("invalid"));
  const std::vector<std::string> parts[] = {{"--checker", "linearizable", "--key", "other"},
                                            {"--checker", "stats"},
                                            {"--budget", "1ns"},
                                            {"--initial", "1"}};
  for (std::vector<std::string> part : parts) {
    SCOPED_TRACE(part[0]);
    part.insert(part.begin(), in("run"));
    EXPECT_THAT(check(part).err, HasSubstr("verdict.json stays as it is"));
    EXPECT_EQ(text_of_file(in("run/verdict.json")), verdict);
  }
  EXPECT_EQ(check({in("run"), "--proof", in("run/verdict.json")}).code, 254);
}

TEST_F(Check, StandardOutputIsForOneThing) {
  const Ended both = check({in("valid.jsonl"), "--json", "--proof", "-"});
  EXPECT_EQ(both.code, 254);
  EXPECT_THAT(both.err, HasSubstr("standard output: expected one of --json, -o - and --proof -"));
  EXPECT_EQ(check({in("valid.jsonl"), "--html"}).code, 254);
}

}  // namespace
}  // namespace assay::e2e
