// The guides' commands work as they are printed: every line of a ```sh block that starts with
// ./assay is run; "# exit N" at its end says which exit code it has, else 0.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;

struct Command {
  std::string line;
  int code = 0;
};

std::vector<Command> commands_of(const std::string& guide) {
  std::vector<Command> commands;
  bool in_block = false;
  std::istringstream lines(text_of_file(std::string(ASSAY_SOURCE_DIR) + "/" + guide));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) in_block = line == "```sh";
    if (!in_block || !line.starts_with("./assay ")) continue;
    Command command{line};
    const size_t mark = line.find("# exit ");
    if (mark != std::string::npos) command.code = std::stoi(line.substr(mark + 7));
    commands.push_back(std::move(command));
  }
  return commands;
}

TEST(Guide, TheCommandsOfYourStoreInFifteenMinutesWorkAsPrinted) {
  for (const auto& [program, package] :
       {std::pair("python3", "python3"), {"etcd", "etcd-server"}}) {
    if (e2e::run({.argv = {"/bin/sh", "-c", std::string("command -v ") + program}}).code != 0)
      GTEST_SKIP() << "there is no " << program << " here (package " << package << ")";
  }
  const auto commands = commands_of("targets/exec/GUIDE.md");
  ASSERT_GE(commands.size(), 4u);
  ScratchFolder scratch;
  fs::create_symlink(bin_dir() + "/assay", scratch.path() + "/assay");
  fs::create_symlink(std::string(ASSAY_SOURCE_DIR) + "/targets", scratch.path() + "/targets");
  for (const Command& command : commands) {
    const Ended ended =
        e2e::run({.argv = {"/bin/sh", "-c", command.line}, .folder = scratch.path()});
    EXPECT_EQ(ended.code, command.code) << command.line << "\n" << ended.out << ended.err;
  }
}

}  // namespace
}  // namespace assay::e2e
