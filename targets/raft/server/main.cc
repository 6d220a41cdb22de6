#include <csignal>
#include <cstdio>

#include "targets/raft/server/server.h"

int main(int argc, char** argv) {
  using namespace assay::raft;
  // Whoever reads the log may go away.
  std::signal(SIGPIPE, SIG_IGN);
  const auto parsed = parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (const auto* help = std::get_if<HelpWanted>(&parsed)) {
    std::fputs(help->text.c_str(), stdout);
    return 0;
  }
  if (const auto* bad = std::get_if<BadOption>(&parsed)) {
    std::fprintf(stderr, "assay-raft: %s\n", bad->message.c_str());
    return static_cast<int>(ServerExit::kBadArguments);
  }
  return static_cast<int>(run_server(std::get<ServerOptions>(parsed)));
}
