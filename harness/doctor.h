// What a machine can do for a run: a line for each prerequisite, from facts that were asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/time.h"
#include "checkers/history/value.h"
#include "targets/node/node.h"

namespace assay {

struct Prerequisite {
  enum class Outcome { kWorks, kNote, kFails };
  std::string what;  // "partitions"
  Outcome outcome = Outcome::kWorks;
  std::string text;      // what was seen, or why not
  std::string remedy;    // what to do about it; empty: nothing needs to be done, or can be
  bool needed = false;   // a run with default options depends on it
};

struct Diagnosis {
  std::string machine;  // "this machine", or a host's name
  std::vector<Prerequisite> prerequisites;

  const Prerequisite* obstacle() const;  // the first that fails and is needed
};

// The script that a POSIX shell runs on a machine; `folder` is where a run would write.
std::string facts_script(const std::string& folder);

// What it said, a line for each fact.
class Facts {
 public:
  explicit Facts(const std::string& said);
  std::string one(const std::string& name) const;
  int64_t number(const std::string& name) const;  // 0: not said
  bool has(const std::string& name, const std::string& value) const;
  std::vector<std::string> all(const std::string& name) const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

// A machine's clock against the driver's: ahead by so much, give or take half a round trip.
struct HostClock {
  Nanos offset{};
  Nanos error{};
};

struct Examined {
  NodePowers powers;      // as the agent there probed
  bool own_links = true;  // its network may be changed; false: cuts need a private network first
  Facts facts{""};
  std::optional<Nanos> fsync;
  std::optional<HostClock> clock;  // of another machine
};
std::vector<Prerequisite> prerequisites_of(const Examined& machine);

// Of a host, before its agent runs: how long the start of a command takes there.
Prerequisite shell_start(Nanos start_up);

std::string diagnosis_text(const Diagnosis& diagnosis, size_t what_width);
Value to_value(const Diagnosis& diagnosis);
std::optional<Diagnosis> diagnosis_from(const Value& value);

}  // namespace assay
