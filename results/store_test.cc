#include "results/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "checkers/history/json_text.h"
#include "results/files.h"
#include "results/run_info.h"
#include "results/temp_folder.h"

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::time_t kNow = 1'767'366'245;  // 2026-01-02 15:04:05 UTC
const RunName kName{"raft", "register", "partition+pause+kill", 7};

TEST(Store, AFolderIsNamedAfterTheRun) {
  EXPECT_EQ(run_folder_name(kName, kNow), "20260102T150405Z-raft-register-partition+pause+kill-7");
}

TEST(Store, NamesAreSanitisedAndCapped) {
  EXPECT_EQ(
      run_folder_name({"../my store\n.json", std::string(100, 'w'), "", 18446744073709551615u},
                      kNow),
      "20260102T150405Z-..-my-store-.json-" + std::string(40, 'w') + "-none-18446744073709551615");
}

TEST(Store, ANewFolderIsTheLatestAndRunsOfOneSecondDoNotClash) {
  TempFolder temp;
  const std::string runs = temp / "results/runs";
  const Result<RunFolder> first = RunFolder::create(runs, kName, kNow);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const Result<RunFolder> second = RunFolder::create(runs, kName, kNow);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_NE(first->path(), second->path());
  EXPECT_THAT(second->path(), EndsWith("+kill-7-2"));
  EXPECT_TRUE(std::filesystem::is_directory(first->file("nodes")));
  EXPECT_EQ(std::filesystem::read_symlink(runs + "/latest").string(), second->name());
}

TEST(Store, ManyRunsStartedAtOnceEachGetTheirOwn) {
  TempFolder temp;
  std::vector<std::thread> threads;
  std::vector<std::string> paths(16);
  for (size_t i = 0; i < paths.size(); ++i) {
    threads.emplace_back([&, i] {
      const Result<RunFolder> made = RunFolder::create(temp.path(), kName, kNow);
      EXPECT_TRUE(made.ok()) << made.error().message;
      if (made.ok()) paths[i] = made->path();
    });
  }
  for (auto& thread : threads) thread.join();
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(std::unique(paths.begin(), paths.end()), paths.end());
}

RunFolder folder_in(const TempFolder& temp) { return *RunFolder::create(temp.path(), kName, kNow); }

Value spec_json() {
  RunInfo info;
  info.command = "assay run --seed 7";
  info.assay_version = "0.1.0";
  info.started = "2026-01-02T15:04:05Z";
  info.faults = "kill";
  info.environment = "private network";
  info.binaries = {{"assay-raft", "sha256:ab"}};
  info.not_claimed = {"guarded writes are not claimed"};
  info.not_tested = {"clocks: the nodes share one clock"};
  return Value::object({{Symbol("target"), "raft"},
                        {Symbol("seed"), 7},
                        {Symbol("time_limit"), "30s"},
                        {Symbol("run"), run_member(info)}});
}

TEST(Store, WhatWasWrittenIsReadBack) {
  TempFolder temp;
  const RunFolder folder = folder_in(temp);
  ASSERT_TRUE(folder.write_spec(spec_json()).ok());
  Verdict verdict;
  verdict.name = "run";
  verdict.reason = "all 3 keys are linearizable";
  ASSERT_TRUE(folder.write_verdict(verdict, History()).ok());
  ASSERT_TRUE(folder.write("summary.md", "# x\n").ok());

  const Result<Value> spec = folder.read_spec();
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ((*spec)["format"].as_text(), "assay-spec");
  EXPECT_EQ((*spec)["version"].as_int(), 1);
  EXPECT_EQ((*spec)["run"], spec_json()["run"]);
  const Result<Verdict> back = folder.read_verdict();
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->reason, verdict.reason);
  EXPECT_EQ(*read_file(folder.summary_path()), "# x\n");

  // Written again from what was read, it is the same file.
  ASSERT_TRUE(folder.write_spec(*spec).ok());
  EXPECT_EQ(*folder.read_spec(), *spec);
}

TEST(Store, RunInfoComesBackFromTheSpec) {
  RunInfo info;
  take_spec(spec_json(), info);
  EXPECT_EQ(info.seed, 7u);
  EXPECT_EQ(info.command, "assay run --seed 7");
  EXPECT_EQ(info.binaries.at(0).hash, "sha256:ab");
  EXPECT_EQ(info.not_claimed.at(0), "guarded writes are not claimed");
  EXPECT_EQ(info.not_tested.at(0), "clocks: the nodes share one clock");
  EXPECT_EQ(info.spec.to_json(), R"({"target":"raft","seed":7,"time_limit":"30s"})");
  EXPECT_EQ(run_member(info), spec_json()["run"]);
}

TEST(Store, ARunIsOpenedByPathByNameAndAsLatest) {
  TempFolder temp;
  const RunFolder folder = folder_in(temp);
  ASSERT_TRUE(folder.write_spec(spec_json()).ok());
  for (const std::string& run : {folder.path(), folder.path() + "/", folder.name(),
                                 std::string("latest"), temp / "latest", temp / "latest/"}) {
    const Result<RunFolder> opened = RunFolder::open(run, temp.path());
    ASSERT_TRUE(opened.ok()) << run << opened.error().message;
    EXPECT_EQ(opened->name(), folder.name()) << run;
  }
}

TEST(Store, WhatIsNoRunFolderIsRefusedWithOneClearLine) {
  TempFolder temp;
  const auto message = [&](const std::string& run) {
    const Result<RunFolder> opened = RunFolder::open(run, temp.path());
    EXPECT_FALSE(opened.ok()) << run;
    EXPECT_EQ(opened.error().fault, Fault::kInput);
    return opened.error().message;
  };
  EXPECT_EQ(message("nonsense"), "no run folder nonsense here or in " + temp.path());
  EXPECT_EQ(message("/no/where"), "no run folder /no/where");
  EXPECT_EQ(message("latest"), "no run folder latest here or in " + temp.path());
  const RunFolder folder = folder_in(temp);
  EXPECT_EQ(message(folder.path()),
            folder.path() + " is not a run folder: neither spec.json nor history.jsonl in it");
  ASSERT_TRUE(write_file(temp / "file", "x").ok());
  EXPECT_EQ(message(temp / "file"), temp / "file" + " is not a run folder: a file");
  std::filesystem::remove_all(folder.path());
  EXPECT_EQ(message("latest"), temp / "latest" + " points to " + folder.path() + ", which is gone");
}

TEST(Store, MissingAndMalformedFilesOfARunGiveOneClearLine) {
  TempFolder temp;
  const RunFolder folder = folder_in(temp);
  EXPECT_EQ(folder.read_verdict().error().message,
            "cannot read " + folder.verdict_path() + ": No such file or directory");
  EXPECT_EQ(folder.read_spec().error().message,
            "cannot read " + folder.spec_path() + ": No such file or directory");
  ASSERT_TRUE(folder.write("verdict.json", "{\n\"format\": 3}").ok());
  EXPECT_EQ(folder.read_verdict().error().message,
            folder.verdict_path() + ":1:1: expected a member \"version\", found none");
  ASSERT_TRUE(folder.write("verdict.json", "").ok());
  EXPECT_THAT(folder.read_verdict().error().message,
              HasSubstr(folder.verdict_path() + ":1:1: not JSON"));
  ASSERT_TRUE(folder.write("spec.json", "{\"targt\": 1}").ok());
  EXPECT_EQ(folder.read_spec().error().message,
            folder.spec_path() + ":1:2: unknown member \"targt\"");
}

TEST(Store, AFolderThatCannotBeMadeSaysWhy) {
  TempFolder temp;
  ASSERT_TRUE(write_file(temp / "runs", "x").ok());
  const Result<RunFolder> made = RunFolder::create(temp / "runs", kName, kNow);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().fault, Fault::kEnvironment);
  EXPECT_THAT(made.error().message, HasSubstr(temp / "runs: Not a directory"));
}

TEST(Store, NodesHaveFoldersOfTheirOwn) {
  TempFolder temp;
  const RunFolder folder = folder_in(temp);
  const Result<std::string> made = folder.make_node_folder("n1");
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(std::filesystem::is_directory(*made));
  EXPECT_EQ(folder.node_log_path("n1"), folder.path() + "/nodes/n1/node.log");
}

IndexLine line_of(uint64_t seed) {
  return {"20260102T150405Z-x",
          "2026-01-02T15:04:05Z",
          "raft",
          "register",
          "kill",
          seed,
          "valid",
          "fine \"so far\"",
          20'412,
          12,
          3,
          61'000};
}

TEST(Store, TheIndexKeepsALinePerRun) {
  TempFolder temp;
  EXPECT_TRUE(read_index(temp.path())->lines.empty());
  ASSERT_TRUE(append_index(temp.path(), line_of(1)).ok());
  ASSERT_TRUE(append_index(temp.path(), line_of(2)).ok());
  const Result<Index> index = read_index(temp.path());
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->lines, (std::vector{line_of(1), line_of(2)}));
  EXPECT_TRUE(index->warnings.empty());
}

TEST(Store, ADamagedLineOfTheIndexCostsOnlyItself) {
  TempFolder temp;
  ASSERT_TRUE(append_index(temp.path(), line_of(1)).ok());
  { std::ofstream(temp / "index.jsonl", std::ios::app) << "{\"format\":\"assay-in"; }
  ASSERT_TRUE(append_index(temp.path(), line_of(2)).ok());
  { std::ofstream(temp / "index.jsonl", std::ios::app) << "{\"format\":\"other\"}\n"; }
  const Result<Index> index = read_index(temp.path());
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->lines, (std::vector{line_of(1), line_of(2)}));
  ASSERT_EQ(index->warnings.size(), 2u);
  EXPECT_THAT(index->warnings[0], HasSubstr("index.jsonl:2:20: not JSON"));
  EXPECT_THAT(index->warnings[1], HasSubstr("index.jsonl:4:1: expected a member"));
}

}  // namespace
}  // namespace assay
