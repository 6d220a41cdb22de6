// The house's arrows (CONTRIBUTING.md): greps every include of our own files, and the places at
// which outside libraries may enter.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Rule {
  std::string room;                  // prefix of the file's path
  std::vector<std::string> may_use;  // prefixes of what it may include, besides itself
};

// The first rule whose room is a prefix decides: the most specific stand first.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> rules = {
      {"checkers/history/", {}},
      {"checkers/", {"checkers/"}},
      {"workloads/gen/", {"checkers/history/"}},
      {"workloads/", {"workloads/", "checkers/"}},
      {"targets/raft/core/", {}},
      {"targets/kv/service/", {}},
      {"targets/raft/replica/", {"targets/raft/core/", "targets/kv/service/"}},
      {"targets/kv/http/",
       {"targets/kv/service/", "targets/asio/", "targets/loop.h", "targets/target.h",
        "targets/driver_cost.h", "targets/node/node.h", "checkers/history/"}},
      {"targets/raft/server/",
       {"targets/raft/replica/", "targets/raft/core/", "targets/kv/", "targets/asio/",
        "targets/skewed_clock.h", "checkers/history/"}},
      {"targets/naive/server/",
       {"targets/naive/", "targets/raft/server/", "targets/raft/core/types.h", "targets/kv/",
        "targets/asio/", "targets/skewed_clock.h", "checkers/history/"}},
      {"targets/naive/",
       {"targets/kv/service/", "targets/kv/http/error_table.h", "targets/raft/core/types.h"}},
      {"targets/node/agent/",
       {"checkers/history/error.h", "checkers/history/time.h", "checkers/history/rng.h",
        "targets/link_delay.h", "targets/link_fault.h", "targets/skewed_clock.h"}},
      {"targets/node/",
       {"targets/loop.h", "targets/link_delay.h", "targets/link_fault.h", "targets/node/",
        "targets/asio/", "checkers/history/"}},
      {"targets/asio/", {"targets/loop.h"}},
      {"targets/exec/",
       {"targets/asio/", "targets/node/", "targets/loop.h", "targets/target.h",
        "targets/driver_cost.h", "checkers/history/"}},
      {"targets/", {"targets/", "checkers/history/"}},
      {"nemesis/", {"nemesis/", "targets/", "workloads/gen/", "checkers/history/"}},
      {"results/", {"results/", "checkers/"}},
      {"harness/", {"harness/", "nemesis/", "workloads/", "targets/", "results/", "checkers/"}},
  };
  return rules;
}

// Where an outside library may be included.
const std::vector<Rule>& libraries() {
  static const std::vector<Rule> libraries = {
      {"nlohmann/",
       {"checkers/history/history_io", "checkers/history/json_text", "results/", "targets/node/",
        "targets/kv/http/", "targets/exec/"}},
      {"boost/process/", {"targets/node/child_carrier", "targets/asio/"}},
      {"boost/asio",
       {"harness/run/real_loop", "targets/node/", "targets/kv/http/", "targets/raft/server/",
        "targets/naive/server/", "targets/asio/", "targets/exec/",
        "targets/third_party/redis_connection"}},
      {"fuse", {"targets/node/agent/disk_program.cc"}},
      {"libssh2", {"targets/node/ssh_shell.cc"}},
      {"zlib.h", {"checkers/history/compressed.cc"}},
      {"zstd.h", {"checkers/history/compressed.cc"}},
      {"hiredis/", {"targets/third_party/redis_connection"}},
      {"boost/beast", {"targets/kv/http/", "targets/raft/server/", "targets/asio/"}},
      {"CLI/", {"harness/cli/"}},
  };
  return libraries;
}

bool starts_with_any(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& p) { return path.starts_with(p); });
}

struct Include {
  std::string file;
  std::string target;
};

std::vector<Include> includes_of_the_house() {
  std::vector<Include> includes;
  const fs::path root = ASSAY_SOURCE_DIR;
  const std::regex pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  for (const char* folder : {"checkers", "workloads", "targets", "nemesis", "results", "harness"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (std::regex_search(line, match, pattern)) {
          includes.push_back({fs::relative(entry.path(), root), match[1]});
        }
      }
    }
  }
  return includes;
}

bool is_test(const std::string& file) {
  return std::regex_search(file,
                           std::regex("(_(test|bench|fuzz)\\.cc|/(test|testing)_[a-z_]*\\.h)$"));
}

TEST(Layering, EveryIncludeFollowsAnArrow) {
  const auto includes = includes_of_the_house();
  ASSERT_GT(includes.size(), 100u);
  for (const Include& include : includes) {
    const bool ours = starts_with_any(include.target, {"checkers/", "workloads/", "targets/",
                                                       "nemesis/", "results/", "harness/"});
    if (!ours) continue;
    const auto rule = std::find_if(rules().begin(), rules().end(),
                                   [&](const Rule& r) { return include.file.starts_with(r.room); });
    ASSERT_NE(rule, rules().end()) << include.file;
    const bool allowed =
        include.target.starts_with(rule->room) || starts_with_any(include.target, rule->may_use);
    EXPECT_TRUE(allowed || is_test(include.file))
        << include.file << " may not include " << include.target;
  }
}

TEST(Layering, OutsideLibrariesEnterInTheirPlaces) {
  for (const Include& include : includes_of_the_house()) {
    for (const Rule& library : libraries()) {
      if (!include.target.starts_with(library.room)) continue;
      EXPECT_TRUE(starts_with_any(include.file, library.may_use) || is_test(include.file))
          << include.file << " may not include " << include.target;
    }
  }
}

TEST(Layering, ThePureRoomsUseTheStandardLibraryAlone) {
  for (const Include& include : includes_of_the_house()) {
    if (!starts_with_any(include.file,
                         {"targets/raft/core/", "targets/kv/service/", "targets/raft/replica/"}))
      continue;
    if (is_test(include.file)) continue;
    const bool standard =
        include.target.find('/') == std::string::npos && !include.target.ends_with(".h");
    const bool ours = include.target.starts_with("targets/");
    const bool cpu = include.target == "nmmintrin.h";  // CRC32C
    EXPECT_TRUE(standard || ours || cpu) << include.file << " includes " << include.target;
  }
}

}  // namespace
