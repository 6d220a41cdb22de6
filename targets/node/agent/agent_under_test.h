// For tests: the real assay-agent at the other end of two pipes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "targets/node/agent/test_support.h"
#include "targets/node/agent/wire.h"

namespace assay::agent {

using nlohmann::json;

class AgentUnderTest {
 public:
  struct Options {
    std::vector<std::string> args;
    std::map<std::string, std::string> env;
    std::string node = "n1";
    bool links = false;        // without it: --no-links
    bool own_network = false;  // with links; in a user namespace, for whom that takes
    std::string chroot;        // the agent's program must be there as /assay-agent
    bool greet = true;
  };
  AgentUnderTest() : AgentUnderTest(Options{}) {}
  explicit AgentUnderTest(const Options& options);
  ~AgentUnderTest();
  AgentUnderTest(const AgentUnderTest&) = delete;
  AgentUnderTest& operator=(const AgentUnderTest&) = delete;

  const json& hello() const { return hello_; }
  pid_t pid() const { return pid_; }
  const std::string& run_id() const { return run_id_; }

  void send_text(const std::string& text);
  int64_t send(json request);  // adds an id
  json ask(json request);      // and waits for the reply
  json reply_to(int64_t id);
  json event(const std::string& kind);  // the next one of that kind, also an earlier unread one
  std::vector<json> lines_so_far();     // unread ones, in order
  void end_input();
  void close_output();
  void kill_it();
  int wait();  // the exit code, or 256 + signal; also reads what it still has to say
  std::string complaints() const { return scratch_.read("stderr"); }

  pid_t start_shell(const std::string& name, const std::string& script);  // a daemon

 private:
  bool read_more();  // false at the end
  std::optional<json> take(const std::function<bool(const json&)>& wanted);
  json next(const std::function<bool(const json&)>& wanted, const std::string& what);

  ScratchFolder scratch_;
  std::string run_id_;
  int in_ = -1, out_ = -1;
  pid_t pid_ = -1;
  int64_t next_id_ = 1;
  LineSplitter splitter_{64 << 20};
  std::deque<json> unread_;
  json hello_;
};

}  // namespace assay::agent
