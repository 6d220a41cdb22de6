#include <csignal>
#include <cstdio>

#include "targets/naive/server/server.h"

int main(int argc, char** argv) {
  using namespace assay;
  // Whoever reads the log may go away.
  std::signal(SIGPIPE, SIG_IGN);
  const auto parsed = naive::parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (const auto* help = std::get_if<raft::HelpWanted>(&parsed)) {
    std::fputs(help->text.c_str(), stdout);
    return 0;
  }
  if (const auto* bad = std::get_if<raft::BadOption>(&parsed)) {
    std::fprintf(stderr, "assay-naive: %s\n", bad->message.c_str());
    return static_cast<int>(raft::ServerExit::kBadArguments);
  }
  return static_cast<int>(naive::run_server(std::get<naive::ServerOptions>(parsed)));
}
