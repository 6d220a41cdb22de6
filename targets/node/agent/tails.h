// Tails: log files that are followed; each new line becomes an event as soon as it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "checkers/history/error.h"
#include "targets/node/agent/poll_loop.h"

namespace assay::agent {

class Tails {
 public:
  // `room` says whether more lines may be sent now; while it says no, nothing is read.
  Tails(PollLoop& loop, std::function<void(nlohmann::json)> emit, std::function<bool()> room);
  ~Tails();
  Tails(const Tails&) = delete;
  Tails& operator=(const Tails&) = delete;

  // The file may appear later. It starts anew when it gets shorter. A second add of a name
  // replaces the first.
  void add(const std::string& name, const std::string& path, int64_t offset);
  void remove(const std::string& name);

  void pump();    // sends what is there
  void finish();  // and a last line that has no newline

 private:
  struct Tail {
    std::string path;
    int64_t offset = 0;
    uint64_t seq = 0;
    int watch = -1;  // of inotify
    std::string partial;
    bool too_long = false;
  };

  void pump(const std::string& name, Tail& tail);
  void take(const std::string& name, Tail& tail, std::string_view bytes);
  void send(const std::string& name, Tail& tail);
  void look_again();

  PollLoop& loop_;
  std::function<void(nlohmann::json)> emit_;
  std::function<bool()> room_;
  int inotify_ = -1;
  std::map<std::string, Tail> tails_;
};

}  // namespace assay::agent
