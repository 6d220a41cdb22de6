// Checking a recorded history: what `assay check` and the end of every run share.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkers/checker.h"
#include "checkers/history/history.h"
#include "checkers/history/history_io.h"
#include "checkers/linearizable/proof.h"

namespace assay {

// What `assay check` may say over the history's own header.
struct Conventions {
  std::optional<std::string> model;
  std::optional<Value> initial;
  std::optional<bool> failed_cas_observes;
  std::optional<bool> null_read_is_value;
  std::optional<std::string> key;     // only this one
  std::vector<std::string> checkers;  // empty: the header's, else all that apply
  HistoryFormat format = HistoryFormat::kGuess;
  std::optional<bool> independent;    // are values [key value]? as in ReadOptions
  bool prove = false;                 // keep the orders behind what is valid
};

struct CheckLimits {
  Nanos time = seconds(60);
  uint64_t memory_bytes = 0;  // 0: 80 % of RAM
  int jobs = 0;               // 0: as many as CPUs
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void()> has_read;  // called between reading and checking
};

struct Checked {
  History history;
  Verdict verdict;
  Proof proof;  // where one was asked for
  Nanos read_time;
  Nanos check_time;
};

// Reads the file ("-": standard input) and checks it. Errors are those of the file (254).
Result<Checked> check_file(const std::string& path, const Conventions& conventions,
                           const CheckLimits& limits);

// 80 % of the memory of this machine.
uint64_t most_of_memory();

// "8G", "512M", "100000": bytes.
Result<uint64_t> parse_size(const std::string& text);

}  // namespace assay
