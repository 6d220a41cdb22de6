// Scripts of whole runs, for the tests of the checkers that look at faults.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::run_script {

inline std::string ms(int64_t t) { return " time=" + std::to_string(t) + "ms\n"; }

struct Line {
  int64_t at;  // ms
  std::string text;
};

// Lines in any order; joined by time.
class Script {
 public:
  // An operation of one process each, so that they may overlap. What is said more belongs to the
  // invocation where it begins with a phase or a guard, up to an error; else to the completion.
  Script& op(int64_t from, int64_t to, const std::string& f, const std::string& node,
             const std::string& type = "ok", const std::string& more = "") {
    const std::string process = std::to_string(next_process_++);
    const std::string value = f == "cas" ? " k [1,1] " : f == "write" ? " k 1 " : " k ";
    const std::string result = f == "read" ? " k 1 " : value;
    const bool asked = more.find("phase=") != more.npos || more.find("expected=") != more.npos;
    const size_t split = asked ? std::min(more.find("error="), more.size()) : 0;
    lines_.push_back(
        {from, process + " invoke " + f + value + "@" + node + " " + more.substr(0, split)});
    lines_.push_back(
        {to, process + " " + type + " " + f + result + "@" + node + " " + more.substr(split)});
    return *this;
  }
  // `count` operations, one every `every` ms from a time on, round robin over kinds.
  Script& load(int64_t from, int64_t every, int count, const std::vector<std::string>& nodes) {
    const std::vector<std::string> kinds = {"read", "write", "cas"};
    for (int i = 0; i < count; ++i) {
      op(from + i * every, from + i * every + 1, kinds[i % kinds.size()], nodes[i % nodes.size()]);
    }
    return *this;
  }
  Script& fault(const std::string& kind, int64_t from, int64_t to, const std::string& effect,
                const std::string& end = R"({"healed":true})") {
    lines_.push_back({from - 10, "nemesis info start-" + kind + " {\"shape\":\"one\"}"});
    lines_.push_back({from, "nemesis info start-" + kind + " " + effect});
    lines_.push_back({to, "nemesis info stop-" + kind});
    lines_.push_back({to + 10, "nemesis info stop-" + kind + " " + end});
    return *this;
  }
  Script& observe(int64_t at, const std::string& f, const std::string& value) {
    lines_.push_back({at, "observer info " + f + " " + value});
    return *this;
  }
  std::string text() const {
    std::vector<Line> sorted = lines_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Line& a, const Line& b) { return a.at < b.at; });
    std::string script;
    for (const Line& line : sorted) script += line.text + ms(line.at);
    return script;
  }

 private:
  std::vector<Line> lines_;
  int next_process_ = 0;
};

}  // namespace assay::run_script
