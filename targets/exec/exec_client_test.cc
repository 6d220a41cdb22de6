#include "targets/exec/exec_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "targets/asio/testing_loop.h"

namespace assay::exec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string rehearsal() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "exec-rehearsal";
}

// The processes of a group.
int alive_in_group(pid_t group) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    if (!std::getline(stat, text)) continue;
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0, its_group = 0;
    fields >> state >> parent >> its_group;
    if (its_group == group && state != 'Z') ++count;
  }
  return count;
}

class ExecClientTest : public testing::Test {
 protected:
  std::unique_ptr<Client> client(std::vector<std::string> argv) {
    ExecClientOptions options;
    options.program.child.argv = std::move(argv);
    options.program.complaints = complaints_;
    options.to = {"n1", "127.0.0.1:1", seconds(1)};
    options.errors = std::make_shared<ErrorTable>();
    auto started = start_exec_client(loop_, std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().message;
    return started ? std::move(*started) : nullptr;
  }
  std::unique_ptr<Client> in_mode(const char* mode) { return client({rehearsal(), mode}); }

  Op read(Client& client) {
    Op op;
    op.process = Process{3};
    op.f = f::read;
    op.key = Symbol("k");
    std::optional<Op> done;
    client.invoke(op, [&](Op completed) {
      EXPECT_FALSE(done.has_value()) << "completed twice";
      done = std::move(completed);
    });
    EXPECT_TRUE(loop_.run_until([&] { return done.has_value(); }));
    return done.value_or(Op{});
  }

  TestingLoop loop_;
  std::shared_ptr<Complaints> complaints_ = std::make_shared<Complaints>();
};

TEST_F(ExecClientTest, AnswersAreCompletions) {
  const auto client = in_mode("answer");
  for (int i = 0; i < 3; ++i) {
    const Op done = read(*client);
    EXPECT_EQ(done.type, OpType::kOk);
    EXPECT_EQ(done.value, Value(1));
    EXPECT_EQ(done.process.id, 3);
  }
  EXPECT_TRUE(client->usable());
}

TEST_F(ExecClientTest, WhoeverBreaksTheProtocolLeavesAnUnknownOperation) {
  const struct {
    const char* mode;
    const char* cls;
    const char* text;
  } rows[] = {
      {"garbage", "client-lied", "wrote a line that is not JSON: \"Traceback"},
      {"other-id", "client-lied", "answered to request 999, which is not under way"},
      {"unknown-type", "client-lied", "\"type\" is no ok, fail or info: \"\\\"maybe\\\"\""},
      {"no-value", "client-lied", "gave an ok read without a value"},
      {"event", "client-lied", "sent an event to request 1, which is no stream"},
      {"exit", "client-ended", "exited with 3: exec-rehearsal: out of luck"},
      {"exit-at-once", "client-ended", "exited with 3: exec-rehearsal: no such library"},
      {"close-stdout", "client-ended", "closed its standard output"},
      {"long-line", "client-ended", "wrote a line of more than 1 MB"},
      {"flood-stdout-at-once", "client-ended", "wrote a line of more than 1 MB"},
  };
  for (const auto& row : rows) {
    const auto client = in_mode(row.mode);
    const Op done = read(*client);
    EXPECT_EQ(done.type, OpType::kInfo) << row.mode;
    ASSERT_TRUE(done.error.has_value()) << row.mode;
    EXPECT_EQ(done.error->cls.text(), row.cls) << row.mode;
    EXPECT_THAT(done.error->text, StartsWith("the client program ")) << row.mode;
    EXPECT_THAT(done.error->text, HasSubstr(row.text)) << row.mode;
    EXPECT_FALSE(client->usable()) << row.mode;
  }
}

TEST_F(ExecClientTest, ASecondAnswerBreaksItAfterTheFirstOneCounted) {
  for (const char* mode : {"double", "flood-stdout"}) {
    const auto client = in_mode(mode);
    EXPECT_EQ(read(*client).type, OpType::kOk) << mode;
    EXPECT_TRUE(loop_.run_until([&] { return !client->usable(); })) << mode;
    const Op done = read(*client);  // nothing was sent
    EXPECT_EQ(done.type, OpType::kFail) << mode;
    EXPECT_EQ(done.error->cls.text(), "refused") << mode;
    EXPECT_THAT(done.error->text, HasSubstr("answered to request 1 a second time")) << mode;
  }
}

TEST_F(ExecClientTest, AFloodOfComplaintsIsReadAndBounded) {
  const std::string file = testing::TempDir() + "/complaints-" + std::to_string(getpid());
  complaints_->path = file;
  complaints_->bytes_left = 100'000;
  const auto client = in_mode("flood-stderr");
  EXPECT_EQ(read(*client).type, OpType::kOk);
  EXPECT_EQ(std::filesystem::file_size(file), 100'000u);
  std::filesystem::remove(file);
}

TEST_F(ExecClientTest, DestroyingItKillsTheWholeGroup) {
  ProgramSpec spec;
  spec.child.argv = {rehearsal(), "silence"};
  auto program = Program::start(loop_.context(), loop_, spec,
                                {.on_line = [](std::string_view) {},
                                 .on_end = [](const std::string&, const agent::ExitStatus*) {}});
  ASSERT_TRUE(program.ok());
  const pid_t group = (*program)->pid();
  (*program)->write("{\"id\":1}\n");
  ASSERT_TRUE(loop_.run_until([&] { return alive_in_group(group) == 2; }));
  program->reset();
  EXPECT_TRUE(loop_.run_until([&] { return alive_in_group(group) == 0; }));
}

TEST_F(ExecClientTest, ASilentOneIsAbandonedWithoutACompletion) {
  auto client = in_mode("silence");
  Op op;
  op.f = f::read;
  bool done = false;
  client->invoke(op, [&](const Op&) { done = true; });
  client.reset();
  loop_.run_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done);
}

TEST_F(ExecClientTest, AProgramThatCannotBeExecutedIsAnError) {
  ExecClientOptions options;
  options.program.child.argv = {"/nowhere/client"};
  options.errors = std::make_shared<ErrorTable>();
  const auto started = start_exec_client(loop_, std::move(options));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().fault, Fault::kEnvironment);
  EXPECT_THAT(started.error().message, HasSubstr("cannot run /nowhere/client: No such file"));
}

}  // namespace
}  // namespace assay::exec
