#include "targets/exec/exec_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <filesystem>

#include "targets/asio/testing_loop.h"

namespace assay::exec {
namespace {

using boost::asio::ip::tcp;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class ExecTargetTest : public testing::Test {
 protected:
  // A target whose client is the rehearsal in a mode; `more` are members with a comma in front.
  std::unique_ptr<Target> target(const std::string& mode, const std::string& more = "") {
    auto description = parse_description(
        R"({"name": "mystore", "claims": {"read": "stale"}, "client": [")" + rehearsal_ + "\", \"" +
            mode + R"("], "start": ["{bin}/mystored", "{node}", "{option:level}"],
            "options": {"level": {"default": "3"}})" +
            more + "}",
        "/home/me/mystore.json");
    EXPECT_TRUE(description.ok()) << description.error().message;
    auto made = exec_target(std::move(*description)).make({{"level", "4"}}, 1);
    EXPECT_TRUE(made.ok()) << made.error().message;
    (*made)->begin(layout(), seconds(1), 2);
    return std::move(*made);
  }
  Layout layout() const { return {.nodes = {node_}}; }

  Result<Value> status(Target& target) {
    std::optional<Result<Value>> answer;
    target.status(loop_, node_, [&](Result<Value> status) { answer = std::move(status); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return *answer;
  }
  std::string why_down(Target& target) {
    const auto answer = status(target);
    return answer ? "up: " + answer->to_json() : answer.error().message;
  }
  Result<void> tried(Target& target) {
    std::optional<Result<void>> answer;
    target.try_clients(loop_, [&](Result<void> result) { answer = std::move(result); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return *answer;
  }
  // Accepts at the node's client port from here on.
  void open_port() {
    acceptor_.emplace(loop_.context(), tcp::endpoint(tcp::v4(), 0));
    node_.client_port = acceptor_->local_endpoint().port();
  }

  const std::string rehearsal_ =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "exec-rehearsal";
  TestingLoop loop_;
  NodeInfo node_{0, "n1", "127.0.0.1", 1, 2, testing::TempDir()};
  std::optional<tcp::acceptor> acceptor_;
};

TEST_F(ExecTargetTest, TheDaemonIsStartedAsDescribed) {
  const auto made = target("answer", R"(, "env": {"A": "{node}"}, "wipe": ["rm", "-rf", "x"],
      "install": ["touch", "x"], "stop": ["true"], "logs": ["{folder}/audit"])");
  const auto spec = made->daemon(layout(), node_);
  ASSERT_TRUE(spec.ok());
  EXPECT_THAT(spec->argv, ElementsAre("/home/me/mystored", "n1", "4"));
  EXPECT_EQ(spec->env.at("A"), "n1");
  EXPECT_EQ(spec->cwd, node_.folder);
  const auto preparations = made->preparations(layout(), node_);
  ASSERT_EQ(preparations.size(), 2u);
  EXPECT_EQ(preparations[0].argv[0], "rm");
  EXPECT_EQ(preparations[1].argv[0], "touch");
  EXPECT_EQ(made->farewells(layout(), node_).size(), 1u);
  EXPECT_THAT(made->logs(layout(), node_), ElementsAre(node_.folder + "/audit"));
  const auto binaries = made->binaries(layout());
  EXPECT_THAT(binaries, Contains("/home/me/mystored"));
  EXPECT_THAT(binaries, Contains("/home/me/mystore.json"));
  EXPECT_THAT(binaries, Contains(rehearsal_));
}

TEST_F(ExecTargetTest, FaultsOfItsOwnAreCommandsInTheNodesFolder) {
  const auto made = target("answer", R"(, "faults": {
      "full": {"begin": ["fill", "{node}"], "end": ["drain"], "verify": ["is-full"], "within": "3s"},
      "compact": {"summary": "s", "begin": ["a"], "verify": ["b"]}})");
  const auto faults = made->faults();
  ASSERT_EQ(faults.size(), 2u);
  for (const OwnFault& fault : faults) EXPECT_EQ(fault.lasts, fault.kind == "full");
  const FaultCommands full = made->fault_commands("full", layout(), node_);
  EXPECT_THAT(full.begin.argv, ElementsAre("fill", "n1"));
  EXPECT_EQ(full.begin.cwd, node_.folder);
  EXPECT_EQ(full.verify.deadline, seconds(3));
  ASSERT_TRUE(full.end.has_value());
  EXPECT_THAT(full.end->argv, ElementsAre("drain"));
  EXPECT_FALSE(made->fault_commands("compact", layout(), node_).end.has_value());
}

TEST_F(ExecTargetTest, WithoutAStatusItIsUpWhereItsPortAccepts) {
  auto made = target("answer");
  EXPECT_EQ(why_down(*made), "refused");
  open_port();
  made = target("answer");
  EXPECT_EQ(why_down(*made), "up: {}");
}

TEST_F(ExecTargetTest, ItIsUpOnceItsReadyCommandSaysSo) {
  open_port();
  EXPECT_EQ(why_down(*target("answer", R"(, "ready": {"command": ["true"]})")), "up: {}");
  EXPECT_THAT(
      why_down(*target("answer", R"(, "ready": {"command": ["sh", "-c", "echo no >&2; exit 2"]})")),
      "sh exited with 2: no");
}

TEST_F(ExecTargetTest, AStatusCommandPrintsTheStatus) {
  open_port();
  EXPECT_EQ(
      why_down(*target("answer", R"(, "status": ["echo", "{{\"leader\":\"n1\",\n\"term\":3}}"])")),
      R"(up: {"leader":"n1","term":3})");
  EXPECT_EQ(why_down(*target("answer", R"(, "status": ["echo", "{{\"role\":\"r\",\"term\":3}}"])")),
            R"(up: {"role":"r"})")
      << "without a leader a term has no meaning";
  EXPECT_THAT(why_down(*target("answer", R"(, "status": ["echo", "{{\"leader\":\"10.0.0.1\"}}"])")),
              HasSubstr("expected the name of a node as \"leader\", found \"10.0.0.1\""));
  EXPECT_THAT(why_down(*target("answer", R"(, "status": ["echo", "leader"])")),
              HasSubstr("not JSON"));
  EXPECT_EQ(why_down(*target("answer", R"(, "status": ["sleep", "60"])")), "timeout");
}

TEST_F(ExecTargetTest, TheClientProgramMayAnswerForTheStatus) {
  open_port();
  const auto made = target("answer", R"(, "status": "client")");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(why_down(*made), "the status: expected an object, found 1");
  made->end();
  const auto broken = target("exit", R"(, "status": "client")");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(why_down(*broken), HasSubstr("out of luck"));
  broken->end();
}

TEST_F(ExecTargetTest, AClientIsTriedBeforeItIsNeeded) {
  EXPECT_TRUE(tried(*target("answer")).ok());
  for (const char* mode : {"exit-at-once", "garbage", "exit"}) {
    const auto result = tried(*target(mode));
    ASSERT_FALSE(result.ok()) << mode;
    EXPECT_THAT(result.error().message, HasSubstr("n1: the client program ")) << mode;
    EXPECT_EQ(result.error().fault, Fault::kEnvironment);
  }
}

TEST_F(ExecTargetTest, AClientProgramThatIsNotThereIsSaidAtOnce) {
  for (const char* program : {"{bin}/client.py", "no-such-program-anywhere", "{bin}/"}) {
    auto description = parse_description(
        std::string(R"({"name": "x", "claims": {"read": "stale"}, "start": ["x"], "client": [")") +
            program + "\"]}",
        "/nowhere/x.json");
    ASSERT_TRUE(description.ok());
    const auto made = exec_target(std::move(*description)).make({}, 1);
    ASSERT_FALSE(made.ok()) << program;
    EXPECT_THAT(made.error().message, HasSubstr("cannot run the client program"));
    EXPECT_EQ(made.error().fault, Fault::kEnvironment);
  }
}

}  // namespace
}  // namespace assay::exec
