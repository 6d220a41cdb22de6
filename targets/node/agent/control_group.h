// ControlGroup: the control group "assay-<run>-<node>" of this node's daemons, in one hierarchy: of
// version 2 where that has the controller, else of version 1. All calls block for a moment at most.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkers/history/error.h"

namespace assay::agent {

class ControlGroup {
 public:
  // Makes it, or finds the one that is there. controller: "freezer", "cpu" or "memory". An error
  // says why there can be none.
  static Result<ControlGroup> open(const std::string& controller, const std::string& run,
                                   const std::string& node);
  // Those of this run and node, in every hierarchy: what is frozen goes on, so that it can die.
  static void thaw(const std::string& run, const std::string& node);
  // Removes them, once nothing runs in them (it kills nothing). Whether there was one; an error
  // where one stays.
  static Result<bool> remove(const std::string& run, const std::string& node);

  bool is_v2() const { return v2_; }
  const std::string& folder() const { return folder_; }

  Result<void> write(const std::string& file, const std::string& text) const;
  std::string read(const std::string& file) const;  // without the last newline; empty: none
  // The number behind a name in a file of "name number" lines; absent where there is none.
  std::optional<int64_t> number(const std::string& file, const std::string& name) const;

  // Moves processes into it, and asks again for what was forked meanwhile until all are there.
  Result<void> take(const std::function<std::vector<pid_t>()>& processes) const;

 private:
  std::string folder_;
  bool v2_ = false;
};

}  // namespace assay::agent
