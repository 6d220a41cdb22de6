// Certificates and experiments as a user makes them: small ones, on the target memory and on three
// nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::HasSubstr;

// The one certificate below a folder.
std::string certificate_in(const std::string& out) {
  for (const auto& entry : fs::directory_iterator(out))
    if (fs::exists(entry.path() / "certify.json")) return entry.path();
  return "";
}
size_t lines_of(const std::string& path) {
  const std::string text = text_of_file(path);
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Two runs on the target memory, one after the other.
Launch small_suite(const std::string& out) {
  return assay({"certify", "--target", "memory", "--shard", "1/6", "--jobs", "1", "--seed", "3", "--out", out});
}

class CertifyTest : public ::testing::Test {
 protected:
  ScratchFolder scratch_;
};

TEST_F(CertifyTest, KilledInTheMiddleItGoesOnWithWhatIsMissing) {
  {
    Program program(small_suite(scratch_.path()));
    ASSERT_TRUE(eventually([&] {
      const std::string folder = certificate_in(scratch_.path());
      return !folder.empty() && lines_of(folder + "/cells.jsonl") == 1;
    }, seconds(60)));
    program.signal(SIGKILL);
  }
  const std::string folder = certificate_in(scratch_.path());
  EXPECT_FALSE(fs::exists(folder + "/certificate.json"));
  const std::string first = text_of_file(folder + "/cells.jsonl");
  const Ended resumed = run(assay({"certify", "--resume", folder}), seconds(120));
  EXPECT_NE(resumed.code, 254) << resumed.err;
  EXPECT_THAT(text_of_file(folder + "/cells.jsonl"), ::testing::StartsWith(first));
  EXPECT_GE(lines_of(folder + "/cells.jsonl"), 2u);
  EXPECT_TRUE(fs::exists(folder + "/certificate.html"));
  EXPECT_THAT(text_of_file(folder + "/certificate.json"), HasSubstr("assay-certificate"));

  // What is stored is checked again, and nothing else is taken for it.
  EXPECT_EQ(run(assay({"verify", folder})).code, 0);
  const std::string runs = folder + "/runs/latest/history.jsonl";
  std::ofstream(runs, std::ios::app) << R"({"process":"observer","type":"info","f":"phase","value":{"phase":"end"}})" << "\n";
  const Ended changed = run(assay({"verify", folder}));
  EXPECT_EQ(changed.code, 5);
  EXPECT_THAT(changed.out, HasSubstr("the history is another one"));
}

TEST_F(CertifyTest, OfAnotherProgramItIsNotContinued) {
  const std::string folder = scratch_.path() + "/made";
  fs::create_directories(folder);
  std::ofstream(folder + "/certify.json")
      << R"({"format":"assay-certify","version":1,"target":"memory","profile":"quick","contract":"strong","seed":3,"shard":1,"shards":6})";
  const Ended plan = run(assay({"certify", "--plan", "--target", "memory", "--shard", "1/6", "--seed", "3"}));
  ASSERT_EQ(plan.code, 0) << plan.err;
  std::istringstream lines(plan.out);
  std::string id;
  std::getline(lines, id);
  std::getline(lines, id);
  id = id.substr(2, id.find(' ', 2) - 2);
  std::ofstream(folder + "/cells.jsonl") << R"({"id":")" << id << R"(","key":"sha256:of another program","word":"valid"})" << "\n";
  const Ended resumed = run(assay({"certify", "--resume", folder}));
  EXPECT_EQ(resumed.code, 254) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("cannot be continued"));
}

TEST_F(CertifyTest, InterruptedItSaysHowToGoOn) {
  Program program(small_suite(scratch_.path()));
  ASSERT_TRUE(eventually([&] { return !certificate_in(scratch_.path()).empty(); }, seconds(30)));
  ASSERT_TRUE(eventually([&] { return fs::exists(certificate_in(scratch_.path()) + "/runs"); }, seconds(30)));
  program.signal(SIGINT);
  const Ended ended = program.wait(seconds(30));
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--resume"));
}

TEST_F(CertifyTest, TwoAtOnceOnOneMachineDoNotDisturbEachOther) {
  const auto one_run = [&](const char* seed, const char* out) {
    return assay({"certify", "--target", "raft", "--shard", "1/40", "--seed", seed, "--out", scratch_.path() + out, "--json"});
  };
  Program first(one_run("1", "/a")), second(one_run("2", "/b"));
  for (Program* program : {&first, &second}) {
    const Ended ended = program->wait(seconds(180));
    EXPECT_NE(ended.code, 255) << ended.err;
    const Value cells = ended.json()["cells"];
    ASSERT_TRUE(cells.is_array()) << ended.out << ended.err;
    // On a crowded machine a run may be too short for its faults; it is never failed or accused.
    EXPECT_THAT(std::string(cells.as_array()[0].text_or("word", "")),
                ::testing::AnyOf("valid", "vacuous", "unknown"))
        << ended.out;
  }
}

TEST_F(CertifyTest, ShardsAreMergedAndMixedOnesAreNot) {
  const auto shard = [&](const char* part, const char* seed, const char* out) {
    return run(assay({"certify", "--target", "memory", "--shard", part, "--seed", seed, "--jobs", "2", "--out", scratch_.path() + out}), seconds(120));
  };
  shard("1/8", "3", "/a");
  shard("2/8", "3", "/b");
  shard("1/8", "4", "/c");
  const std::string a = certificate_in(scratch_.path() + "/a"), b = certificate_in(scratch_.path() + "/b"),
                    c = certificate_in(scratch_.path() + "/c");
  const Ended merged = run(assay({"merge", a, b, "-o", scratch_.path() + "/merged"}));
  EXPECT_EQ(merged.code, 4) << merged.out << merged.err;  // six of eight parts are missing
  EXPECT_THAT(text_of_file(scratch_.path() + "/merged/certificate.json"), HasSubstr("not played"));
  EXPECT_EQ(run(assay({"verify", scratch_.path() + "/merged"})).code, 0);
  const Ended twice = run(assay({"merge", a, b, a, "-o", scratch_.path() + "/twice"}));
  EXPECT_EQ(twice.code, 254) << twice.err;
  EXPECT_THAT(twice.err, HasSubstr("is in another of the folders too"));
  const Ended mixed = run(assay({"merge", a, c, "-o", scratch_.path() + "/mixed"}));
  EXPECT_EQ(mixed.code, 254) << mixed.err;
  EXPECT_THAT(mixed.err, HasSubstr("its request is another"));
  const Ended over = run(assay({"merge", a, "-o", b}));
  EXPECT_EQ(over.code, 254) << over.err;
  EXPECT_THAT(over.err, HasSubstr("expected a new folder"));
}

// A certificate of the target memory is vacuous: its suite is one part of six.
TEST_F(CertifyTest, WhatWasImprovedByHandIsNotVerified) {
  run(small_suite(scratch_.path()), seconds(120));
  const std::string folder = certificate_in(scratch_.path()), path = folder + "/certificate.json";
  const std::string text = text_of_file(path);
  ASSERT_EQ(run(assay({"verify", folder})).code, 0);
  const auto expect_refused = [&](const std::string& from, const std::string& to, const std::string& said) {
    std::string changed = text;
    const size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    std::ofstream(path) << changed.replace(at, from.size(), to);
    const Ended ended = run(assay({"verify", folder}));
    EXPECT_EQ(ended.code, 5) << from << ": " << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr(said));
  };
  expect_refused(R"("word": "vacuous")", R"("word": "valid")", "the certificate: expected valid, found vacuous");
  const size_t clauses = text.find("\"clauses\": [");
  const std::string to_a_word = text.substr(clauses, text.find("\"vacuous\"", clauses) - clauses);
  expect_refused(to_a_word + "\"vacuous\"", to_a_word + "\"valid\"", ": expected valid, found vacuous");
  const size_t hash = text.find("sha256:", text.find("history_hash"));
  expect_refused(text.substr(hash, text.find('"', hash) - hash), "", "a verdict without a history");
  const size_t cells = text.find("\"cells\": [");
  expect_refused(text.substr(cells), "\"cells\": []}", "of which it says nothing");
  std::ofstream(path) << text.substr(0, text.size() / 2);
  const Ended torn = run(assay({"verify", folder}));
  EXPECT_EQ(torn.code, 254);
  EXPECT_THAT(torn.err, HasSubstr("certificate.json:"));
}

TEST_F(CertifyTest, ARequestThatIsDamagedIsRefusedWithItsPlace) {
  const std::string path = scratch_.path() + "/certify.json";
  const std::string head = R"({"format":"assay-certify","version":1,"target":"memory","profile":"quick","contract":"strong","seed":3,)";
  for (const std::string& rest : {R"("shard":1,"shards":0})", R"("shard":"1","shards":1})", R"("shard":3,"shards":2})",
                                  R"("shard":1,"shards":1,"settings":{"a.b":1}})", R"("shard":1,"shards":1,"colour":1})"}) {
    std::ofstream(path) << head << rest;
    const Ended ended = run(assay({"certify", "--resume", scratch_.path()}));
    EXPECT_EQ(ended.code, 254) << rest << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("certify.json:")) << rest;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CertifyTest, OneAtATimeIsAtWorkInAFolder) {
  Program program(small_suite(scratch_.path()));
  ASSERT_TRUE(eventually([&] {
    const std::string folder = certificate_in(scratch_.path());
    return !folder.empty() && fs::exists(folder + "/specs");
  }, seconds(60)));
  const Ended second = run(assay({"certify", "--resume", certificate_in(scratch_.path())}));
  EXPECT_EQ(second.code, 254);
  EXPECT_THAT(second.err, HasSubstr("another assay is at work in it"));
}

TEST_F(CertifyTest, WithoutWhatItNeedsItFailsAndJudgesNothing) {
  const Ended certified = run(assay({"certify", "--target", "raft", "--bin-dir", scratch_.path(), "--out", scratch_.path() + "/c"}));
  EXPECT_EQ(certified.code, 255) << certified.err;
  EXPECT_FALSE(fs::exists(scratch_.path() + "/c"));
  const Ended played = run(assay({"experiment", "lost-update", "--bin-dir", scratch_.path(), "--out", scratch_.path() + "/e"}));
  EXPECT_EQ(played.code, 255) << played.out << played.err;
  EXPECT_THAT(played.out, HasSubstr("2 failed"));
}

// Where nothing fits any more: neither a spec, nor a record, nor a page.
TEST_F(CertifyTest, OnAFullDiskItFailsAndIsNotInterrupted) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, for a small file system";
  const std::string small = scratch_.path() + "/small";
  fs::create_directories(small);
  ASSERT_EQ(::mount("none", small.c_str(), "tmpfs", 0, "size=64k"), 0);
  const Ended certified = run(small_suite(small), seconds(120));
  const Ended played = run(assay({"experiment", "lost-update", "--out", small}), seconds(120));
  ::umount(small.c_str());
  EXPECT_EQ(certified.code, 255) << certified.err;
  EXPECT_EQ(played.code, 255) << played.err;
  EXPECT_THAT(certified.err, HasSubstr("No space left on device"));
}

TEST_F(CertifyTest, AnExperimentConvictsTheDesignAndNotItsTwin) {
  const Ended ended =
      run(assay({"experiment", "lost-update", "--seed", "5", "--out", scratch_.path(), "--json"}), seconds(120));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  const Value result = ended.json();
  EXPECT_EQ(result.int_or("as_expected", 0), 2);
  EXPECT_EQ(result["runs"].as_array()[0].text_or("seen", ""), "invalid");
  EXPECT_EQ(result["runs"].as_array()[1].text_or("seen", ""), "valid");
}

TEST_F(CertifyTest, WhatIsAskedBadlyIsSaidInOneLine) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"certify", "--target", "nothing"}, {"certify", "--shard", "3/2"}, {"certify", "--profile", "slow"},
           {"certify", "--resume", "/nowhere"}, {"certify", "--set", "raft.nothing=1", "--plan"},
           {"certify", "--resume", ""}, {"certify", "--resume", "/nowhere", "--target", "memory"},
           {"certify", "--resume", "/nowhere", "--plan"}, {"certify", "--shard", ""}, {"certify", "--out", ""},
           {"certify", "--time-limit", "1h"}, {"certify", "--set", "register.x=1", "--plan"},
           {"verify", "/nowhere"}, {"verify", ""}, {"merge", "/nowhere", "-o", "/nowhere-else"}, {"merge", "", "-o", ""},
           {"experiment"}, {"experiment", "nothing"}, {"experiment", "flp"}}) {
    const Ended ended = run(assay(arguments));
    EXPECT_EQ(ended.code, 254) << arguments[0] << " " << arguments.back() << ": " << ended.out << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

}  // namespace
}  // namespace assay::e2e
