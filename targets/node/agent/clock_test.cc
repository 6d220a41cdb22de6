// The clock of a daemon, and nobody else's, is off, as the daemon itself shows, and right again.
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "targets/node/agent/agent_under_test.h"
#include "targets/node/agent/protocol.h"
#include "targets/skewed_clock.h"

namespace assay::agent {
namespace {

class Clocks : public testing::Test {
 protected:
  AgentUnderTest::Options options(const std::string& skip = "") const {
    return {.args = {"--no-beat", "--data", folder.path("data")}, .env = {{kSkipVariable, skip}}};
  }
  // The environment of daemons; empty, and the reason printed, where there is no such library.
  static json prepare(AgentUnderTest& agent, const char* by) {
    const json reply =
        agent.ask({{"do", "prepare"}, {"kind", "clock"}, {"settings", {{"by", by}}}});
    if (!reply.contains("env")) std::cout << reply << "\n";
    return reply.value("env", json::object());
  }
  // A daemon that writes the seconds since 1970 into a file again and again, as `date` sees them.
  void start_teller(AgentUnderTest& agent, const std::string& name, const json& env) {
    const std::string file = folder.path(name);
    agent.ask({{"do", "start"},
               {"name", name},
               {"argv",
                {"sh", "-c",
                 "while :; do date +%s >" + file + ".new && mv " + file + ".new " + file +
                     "; sleep 0.02; done"}},
               {"env", env},
               {"log", folder.path("log")}});
  }
  // Whether what it tells comes to be ahead by about so many seconds.
  bool comes_to(const std::string& name, int64_t ahead) {
    return eventually([&] {
      const int64_t told = atoll(folder.read(name).c_str());
      return told != 0 && std::abs(told - time(nullptr) - ahead) <= 2;
    });
  }
  static json begin(AgentUnderTest& agent, json settings) {
    return agent.ask(
        {{"do", "fault"}, {"kind", "clock"}, {"daemon", "d"}, {"settings", std::move(settings)}});
  }
  static json end(AgentUnderTest& agent) {
    return agent.ask({{"do", "unfault"}, {"kind", "clock"}});
  }

  ScratchFolder folder;
};

TEST_F(Clocks, AProgramUnderLibfaketimeSeesTheJumpAndTheReturn) {
  AgentUnderTest agent(options());
  const json env = prepare(agent, "libfaketime");
  if (env.empty()) GTEST_SKIP() << "no libfaketime";
  start_teller(agent, "d", env);
  start_teller(agent, "other", json::object());
  ASSERT_TRUE(comes_to("d", 0));
  for (const int64_t jump : {100, -100}) {
    json reply = begin(agent, {{"jump_ms", std::to_string(jump * 1'000)}});
    EXPECT_EQ(reply["bit"], true) << reply;
    EXPECT_TRUE(comes_to("d", jump));
    EXPECT_TRUE(comes_to("other", 0));
    const json seen = agent.ask({{"do", "look"}, {"kind", "clock"}});
    EXPECT_NEAR(seen["figure"].get<double>() / 1e9, double(jump), 2);
    reply = end(agent);
    EXPECT_EQ(reply["installed"], true) << reply;
    EXPECT_EQ(reply["bit"], true) << reply;
    EXPECT_TRUE(comes_to("d", 0));
  }
  EXPECT_EQ(end(agent)["bit"], false);
}

TEST_F(Clocks, AHookIsToldAndSeenThroughItsFile) {
  AgentUnderTest agent(options());
  const json env = prepare(agent, "hook");
  ASSERT_TRUE(env.contains(kClockVariable)) << env;
  agent.start_shell("d", "exec sleep 1000");
  ClockFile* file = ClockFile::map(env[kClockVariable].get<std::string>().c_str());
  ASSERT_NE(file, nullptr);
  // A daemon that does not look at it has no clock that is seen to be off.
  json reply = begin(agent, {{"jump_ms", "30000"}, {"gain_permille", "100"}});
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], false) << reply;
  EXPECT_EQ(file->gain_permille, 100);
  EXPECT_GE(file->wall_offset, 30'000'000'000);
  EXPECT_TRUE(eventually([&] { return file->steady_offset > 0; }));
  // One that does.
  const int64_t id = agent.send({{"do", "fault"}, {"kind", "clock"}, {"daemon", "d"}});
  const auto show = [&] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    file->seen_wall = std::chrono::nanoseconds(now).count() + file->wall_offset;
  };
  std::atomic<bool> runs = true;
  std::thread daemon([&] {
    for (; runs; std::this_thread::sleep_for(std::chrono::milliseconds(5))) show();
  });
  reply = agent.reply_to(id);
  EXPECT_EQ(reply["bit"], true) << reply;
  const int64_t gained = file->steady_offset;
  reply = end(agent);
  EXPECT_EQ(reply["installed"], true) << reply;
  EXPECT_EQ(reply["bit"], true) << reply;
  EXPECT_EQ(file->wall_offset, 0);
  EXPECT_GE(file->steady_offset, gained) << "a steady clock does not go back";
  runs = false;
  daemon.join();
}

TEST_F(Clocks, WhatIsSaidToBeInstalledAndIsNotDoesNotBite) {
  AgentUnderTest agent(options("no-clock"));
  const json env = prepare(agent, "libfaketime");
  if (env.empty()) GTEST_SKIP() << "no libfaketime";
  start_teller(agent, "d", env);
  const json reply = begin(agent, {{"jump_ms", "100000"}});
  EXPECT_EQ(reply["bit"], false) << reply;
  EXPECT_TRUE(comes_to("d", 0));
}

TEST_F(Clocks, NothingIsLeftOfTheFileAfterTheAgent) {
  const std::string file = folder.path("data.clock");
  {
    AgentUnderTest agent(options());
    prepare(agent, "hook");
    EXPECT_TRUE(std::filesystem::exists(file));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Clocks, ASkewedClockDriftsAndIsNeverSteadyBackwards) {
  const std::string path = folder.path("clock");
  folder.write("clock", std::string(sizeof(ClockFile), '\0'));
  ClockFile* file = ClockFile::map(path.c_str());
  ASSERT_NE(file, nullptr);
  setenv(kClockVariable, path.c_str(), 1);
  SkewedClock& clock = SkewedClock::instance();
  const auto before = clock.steady_now();
  file->steady_offset = 5'000'000'000;
  const auto ahead = clock.steady_now();
  EXPECT_GE(ahead - before, std::chrono::seconds(5));
  file->steady_offset = 0;
  EXPECT_GE(clock.steady_now(), ahead);
  file->wall_offset = -60'000'000'000;
  EXPECT_LT(clock.wall_now(), std::chrono::system_clock::now() - std::chrono::seconds(59));
  // A clock that gains a second in each is there in half of the time.
  file->gain_permille = 1'000;
  file->steady_offset = 10'000'000'000;
  const auto until = clock.steady_now() + std::chrono::seconds(100);
  const auto left = clock.real_time_of(until) - std::chrono::steady_clock::now();
  EXPECT_LE(left, std::chrono::milliseconds(50'001));  // and no more than what is rounded
  unsetenv(kClockVariable);
}

}  // namespace
}  // namespace assay::agent
