// Faults of a store's own, against a node whose commands are scripted, in virtual time.
#include "targets/own_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "targets/virtual_loop.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Answers each command with the next exit code of its script; the last one stays.
class FakeNode : public Node {
 public:
  explicit FakeNode(Loop& loop) : loop_(loop) {}

  std::map<std::string, std::deque<int>> exits;  // by program
  std::vector<std::string> log;                  // what was asked for, in order
  bool lost = false;

  void run(const CommandSpec& command, Done<CommandOutput> done) override {
    const std::string& program = command.argv[0];
    note(program);
    std::deque<int>& codes = exits[program];
    CommandOutput output;
    if (!codes.empty()) output.end.code = codes.front();
    if (codes.size() > 1) codes.pop_front();
    output.out = "first\n" + program + " says\n";
    answer<CommandOutput>(done, output);
  }
  void remedy(const std::string& name, const CommandSpec& command, Done<void> done) override {
    log.push_back("promise " + name + ": " + command.argv[0]);
    answer<void>(done, {});
  }
  void forget(const std::string& name, Done<void> done) override {
    log.push_back("forget " + name);
    answer<void>(done, {});
  }
  void undo(Done<void> done) override { answer<void>(done, {}); }

  const std::string& name() const override { return name_; }
  const std::string& address() const override { return name_; }
  const NodePowers& powers() const override { return powers_; }
  int agent_pid() const override { return 0; }
  void set_events(NodeEvents) override {}
  void start(const DaemonSpec&, Done<int>) override {}
  void kill(const std::string&, Done<KillReport>) override {}
  void stop(const std::string&, Nanos, Done<KillReport>) override {}
  void pause(const std::string&, Done<PauseReport>) override {}
  void resume(const std::string&, Done<ResumeReport>) override {}
  void cut(const std::vector<std::string>&, Done<void>) override {}
  void heal(Done<std::map<std::string, uint64_t>>) override {}
  const std::map<std::string, uint64_t>& bitten() const override { return bitten_; }
  void delay(const std::map<std::string, LinkDelay>&, Done<void>) override {}
  void undelay(Done<std::map<std::string, HeldPackets>>) override {}
  const std::map<std::string, Nanos>& held() const override { return held_; }
  void prepare_fault(const NodeFault&, Done<std::map<std::string, std::string>>) override {}
  void begin_fault(const NodeFault&, const std::string&, Done<FaultReport>) override {}
  void end_fault(const std::string&, Done<FaultReport>) override {}
  void look_at_fault(const std::string&, Done<FaultReport>) override {}
  void break_links(const LinkFault&, const std::vector<std::string>&, Done<void>) override {}
  void mend_links(const std::string&, Done<std::map<std::string, uint64_t>>) override {}
  const std::map<std::string, uint64_t>& struck(const std::string&) const override {
    return bitten_;
  }
  void probe(const std::vector<std::string>&, const LinkProbe&, Done<void>) override {}
  void observe(Done<NodeObservation>) override {}
  void fetch(const std::string&, int64_t, Done<FileContent>) override {}
  void list(const std::string&, Done<std::vector<FileEntry>>) override {}
  void make_folder(const std::string&, Done<void>) override {}
  void remove_folder(const std::string&, Done<void>) override {}
  void measure_fsync(const std::string&, Done<Nanos>) override {}
  void tail(const std::string&, std::function<void(const TailedLine&)>) override {}
  void close(Done<void>) override {}

 private:
  // The same again and again is noted once.
  void note(const std::string& what) {
    if (log.empty() || log.back() != what) log.push_back(what);
  }
  template <typename T>
  void answer(const Done<T>& done, Result<T> result) {
    if (lost) result = environment_error("the agent is lost");
    loop_.post([done, result] { done(result); });
  }

  Loop& loop_;
  std::string name_ = "n1";
  NodePowers powers_;
  std::map<std::string, Nanos> held_;
  std::map<std::string, uint64_t> bitten_;
};

class OwnFaultCommands : public testing::Test {
 protected:
  Result<Effect> begin(bool lasts = true) { return ran(begin_own_fault, lasts); }
  Result<Effect> end(bool lasts = true) { return ran(end_own_fault, lasts); }

  VirtualLoop loop;
  FakeNode node{loop};

 private:
  Result<Effect> ran(decltype(begin_own_fault) fault, bool lasts) {
    FaultCommands commands;
    commands.begin.argv = {"begin"};
    if (lasts) commands.end = CommandSpec{.argv = {"end"}};
    commands.verify.argv = {"verify"};
    std::vector<Result<Effect>> answers;
    fault(loop, node, "compact", commands, seconds(5),
          [&](Result<Effect> effect) { answers.push_back(std::move(effect)); });
    loop.run();
    EXPECT_EQ(answers.size(), 1u);
    return answers.at(0);
  }
};

TEST_F(OwnFaultCommands, TheEndIsPromisedBeforeAnythingBegins) {
  const auto effect = begin();
  ASSERT_TRUE(effect.ok());
  EXPECT_TRUE(effect->installed && effect->bit);
  EXPECT_EQ(effect->evidence, "n1: begin says; verify says");
  EXPECT_THAT(node.log, ElementsAre("promise compact: end", "begin", "verify"));
}

TEST_F(OwnFaultCommands, WhatDoesNotLastPromisesNothing) {
  EXPECT_TRUE(begin(false)->bit);
  EXPECT_THAT(node.log, ElementsAre("begin", "verify"));
  const auto ended = end(false);
  EXPECT_TRUE(ended->installed);
  EXPECT_FALSE(ended->bit);
  EXPECT_THAT(node.log, ElementsAre("begin", "verify"));
}

TEST_F(OwnFaultCommands, ABeginningThatFailsInstallsNothing) {
  node.exits["begin"] = {3};
  const auto effect = begin();
  EXPECT_FALSE(effect->installed || effect->bit);
  EXPECT_EQ(effect->evidence, "n1: begin exited with 3: begin says");
}

TEST_F(OwnFaultCommands, OneThatIsNeverInForceDidNotBite) {
  node.exits["verify"] = {1};
  const auto effect = begin();
  EXPECT_TRUE(effect->installed);
  EXPECT_FALSE(effect->bit);
  EXPECT_THAT(effect->evidence, HasSubstr("not in force: verify exited with 1"));
  EXPECT_GE(loop.now(), seconds(5));
}

TEST_F(OwnFaultCommands, ItMayTakeAWhileToBite) {
  node.exits["verify"] = {1, 1, 0};
  EXPECT_TRUE(begin()->bit);
}

TEST_F(OwnFaultCommands, AnEndIsTriedUntilTheFaultIsGone) {
  node.exits["verify"] = {0, 0, 1};  // in force until now; after the first end still; gone
  node.exits["end"] = {1, 1, 0};
  const auto effect = end();
  EXPECT_TRUE(effect->installed && effect->bit);
  EXPECT_THAT(node.log, ElementsAre("verify", "end", "verify", "end", "verify", "forget compact"));
}

TEST_F(OwnFaultCommands, OneThatStaysIsNotHealedAndStaysPromised) {
  node.exits["verify"] = {0};
  const auto effect = end();
  EXPECT_FALSE(effect->installed);
  EXPECT_EQ(effect->evidence, "n1: still in force");
  EXPECT_THAT(node.log, testing::Not(testing::Contains("forget compact")));
}

TEST_F(OwnFaultCommands, OneOfWhichNobodyKnowsIsNotHealed) {
  node.exits["verify"] = {7};
  const auto effect = end();
  EXPECT_FALSE(effect->installed);
  EXPECT_EQ(effect->evidence, "n1: who knows? verify exited with 7: verify says");
}

TEST_F(OwnFaultCommands, OneThatWasGoneBeforeItsEndDidNotLast) {
  node.exits["verify"] = {1};
  const auto effect = end();
  EXPECT_TRUE(effect->installed);
  EXPECT_FALSE(effect->bit);
}

TEST_F(OwnFaultCommands, ALostAgentHealsNothing) {
  node.lost = true;
  EXPECT_THAT(begin().error().message, HasSubstr("n1: compact: the agent is lost"));
  EXPECT_FALSE(end()->installed);
}

}  // namespace
}  // namespace assay
