// Redis with Sentinel as its packages bring it: convicted where it fails over, valid at rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RedisRun : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"redis-server", "redis-sentinel"}) {
      const std::string look = std::string("command -v ") + program;
      if (e2e::run({.argv = {"/bin/sh", "-c", look}}).code != 0)
        GTEST_SKIP() << "there is no " << program << " here (package " << program << ")";
    }
  }

  Ended run(std::vector<std::string> options) const {
    return run_as({"--target", "redis", "--nodes", "3"}, std::move(options));
  }
  Ended run_as(const std::vector<std::string>& what, std::vector<std::string> options) const {
    std::vector<std::string> arguments{"run", "--json"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    arguments.insert(arguments.end(), options.begin(), options.end());
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return e2e::run(launch);
  }
  // A short run may have no failover under load: then it is another seed's turn.
  Ended run_until_invalid(const std::vector<std::string>& options) const {
    Ended ended;
    for (const char* seed : {"1", "2", "3", "4", "5"}) {
      std::vector<std::string> with_seed = options;
      with_seed.insert(with_seed.end(), {"--seed", seed});
      ended = run(with_seed);
      if (ended.code == 1 || ended.code >= 100) break;
    }
    return ended;
  }
  std::string latest(const std::string& file) const {
    return text_of_file(scratch_.path() + "/results/runs/latest/" + file);
  }

  ScratchFolder scratch_;
};

TEST_F(RedisRun, IsConvictedWhereItFailsOver) {
  const Ended ended = run_until_invalid(
      {"--nemesis", "partition:leader,kill:leader", "--time-limit", "20s", "--deadline", "3m"});
  ASSERT_EQ(ended.code, 1) << ended.out << ended.err;
  const Value witness = ended.json()["witness"];
  EXPECT_FALSE(witness["text"].is_null()) << ended.out;
  EXPECT_FALSE(witness["operations"].as_array().empty()) << ended.out;
  // Of reads and writes: members that disagree are not what it is convicted of.
  EXPECT_EQ(witness.text_or("path", "").substr(0, 13), "linearizable/") << ended.out;
}

TEST_F(RedisRun, LosesAnAcknowledgedWriteOfAPrimaryThatWasCutOff) {
  const std::string spec = ASSAY_SOURCE_DIR "/targets/third_party/examples/redis/lost_write.json";
  Ended ended;
  // On a machine that is too busy to fail over in time nothing is lost.
  for (const char* seed : {"1", "2", "3"}) {
    ended = run_as({spec}, {"--seed", seed});
    if (ended.code == 1 || ended.code >= 100) break;
  }
  ASSERT_EQ(ended.code, 1) << ended.out << ended.err;
  // Long after the heal, when all members agree: it is gone for good.
  const Value witness = ended.json()["witness"];
  ASSERT_TRUE(witness["text"].is_array()) << ended.out;
  EXPECT_THAT(witness["text"].as_array()[0].to_json(),
              AllOf(HasSubstr("read 1 from n"), HasSubstr("after 2 was acknowledged")));
}

TEST_F(RedisRun, IsValidAtRest) {
  for (const char* net : {"private", "host"}) {
    const Ended ended = run({"--nemesis", "none", "--time-limit", "5s", "--seed", "1", "--net", net,
                             // A busy machine must not look like a dead one.
                             "--set", "redis.down-after-ms=5000"});
    ASSERT_EQ(ended.code, 0) << net << ended.out << ended.err;
    EXPECT_GT(ended.json()["operations"].int_or("ok", 0), 500) << ended.out;
    for (const char* words : {"Ready to accept connections", "+monitor master assay"})
      EXPECT_THAT(latest("nodes/n2/node.log"), HasSubstr(words));
  }
}

TEST_F(RedisRun, WaitsForReplicasWhereAskedTo) {
  const Ended ended = run({"--nemesis", "none", "--time-limit", "3s", "--seed", "1", "--set",
                           "redis.wait=2", "--set", "redis.down-after-ms=5000"});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  // With a replica away nothing changes any more.
  run({"--nemesis", "pause:one", "--time-limit", "9s", "--fault-duration", "2s",
       "--nemesis-interval", "500ms", "--seed", "1", "--set", "redis.wait=2", "--set",
       "redis.down-after-ms=30000"});
  EXPECT_NE(latest("history.jsonl").find("1 of 2 replicas have it"), std::string::npos);
}

TEST_F(RedisRun, ReadsOfReplicasAreConvicted) {
  const Ended ended = run_until_invalid({"--nemesis", "partition", "--time-limit", "10s", "--set",
                                         "redis.reads=any", "--deadline", "3m"});
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
}

}  // namespace
}  // namespace assay::e2e
