#include "harness/checking.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "checkers/check_model.h"
#include "checkers/history/history_io.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

Nanos since(Clock::time_point start) {
  return Nanos{std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()};
}

void apply(const Conventions& conventions, HistoryHeader& header) {
  if (conventions.model) header.model = *conventions.model;
  if (conventions.initial) header.initial = *conventions.initial;
  if (conventions.failed_cas_observes)
    header.failed_cas_observes = *conventions.failed_cas_observes;
  if (conventions.null_read_is_value) header.null_read_is_value = *conventions.null_read_is_value;
}

Op invocation_of(const Operation& operation) {
  Op op;
  op.index = operation.invoke_index();
  op.time = operation.invoke_time();
  op.process = operation.process();
  op.f = operation.f();
  op.key = operation.key();
  op.value = operation.argument();
  op.node = operation.node();
  op.expected = operation.expected();
  op.scheduled = operation.scheduled();
  op.extra = operation.invoke_extra();
  return op;
}

Op completion_of(const Operation& operation) {
  Op op = complete(invocation_of(operation), operation.type());
  op.index = operation.return_index();
  op.time = operation.return_time();
  op.value = operation.result();
  op.revision = operation.revision();
  op.at = operation.at();
  op.expected = Token();
  op.scheduled = Nanos{-1};
  op.extra = operation.return_extra();
  if (!operation.error_class().empty()) {
    op.error = OpError{operation.error_class(), std::string(operation.error_text()),
                       operation.error_current()};
  }
  return op;
}

// The operations on one key, and everything that is not a client's.
Result<History> only_key(const History& history, Symbol key) {
  std::vector<std::pair<Position, Op>> lines;
  HistoryBuilder builder;
  builder.set_header(history.header());
  builder.set_source(history.source());
  for (size_t i = 0; i < history.size(); ++i) {
    const Operation operation = history[i];
    if (operation.key() != key) continue;
    lines.emplace_back(operation.invoke_position(), invocation_of(operation));
    if (operation.return_position() != kOpen)
      lines.emplace_back(operation.return_position(), completion_of(operation));
  }
  if (lines.empty())
    return input_error("the history has no operation on the key \"" + std::string(key.text()) +
                       "\"");
  for (const NemesisOp& op : history.nemesis()) {
    lines.emplace_back(op.invoke_position, op.invocation);
    if (op.return_position != kOpen) lines.emplace_back(op.return_position, op.completion);
  }
  for (const Observation& observation : history.observations())
    lines.emplace_back(observation.position, observation.op);
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [position, line] : lines) {
    if (auto added = builder.add(line, history.place_of(position)); !added) return added.error();
  }
  for (const std::string& warning : history.warnings()) builder.warn(warning);
  return builder.build();
}

// Names the file, where the error does not yet say which line of it.
Error about_file(const History& history, const Error& error) {
  if (error.message.starts_with(history.source() + ":")) return error;
  return {history.source() + ": " + error.message, error.fault};
}

// Initial values of keys that do not occur. What no model can judge is left to the checkers.
Result<void> warn_of_initials(History& history) {
  if (!history.header().initial.is_object()) return {};
  const auto model = general_model_of(history);
  if (!model || (*model && !can_judge(history, **model))) return {};
  const auto missing = initials_of_nothing(history, *model);
  if (!missing) return missing.error();
  for (Symbol name : *missing)
    history.warn("the initial value of \"" + std::string(name.text()) +
                 "\" is not used: no operation has that key");
  return {};
}

Budget memory_and_jobs(const CheckLimits& limits) {
  Budget budget;
  budget.memory_bytes = limits.memory_bytes ? limits.memory_bytes : most_of_memory();
  budget.jobs = limits.jobs ? limits.jobs
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return budget;
}

std::function<bool()> exhausted_from(Clock::time_point start, const CheckLimits& limits) {
  return [start, &limits] {
    return since(start) >= limits.time || (limits.interrupted && limits.interrupted->load());
  };
}

}  // namespace

uint64_t most_of_memory() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 10 * 8;
}

Result<uint64_t> parse_size(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(stop, end);
  const std::pair<std::string_view, int> units[] = {
      {"", 0}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}};
  for (const auto& [name, shift] : units) {
    if (error == std::errc() && number > 0 && unit == name && number <= (UINT64_MAX >> shift))
      return number << shift;
  }
  return input_error("--memory: expected a size such as 8G or 512M, found \"" + text + "\"");
}

Result<Checked> check_file(const std::string& path, const Conventions& conventions,
                           const CheckLimits& limits) {
  Checked checked;
  const auto start = Clock::now();
  Budget budget = memory_and_jobs(limits);
  auto history = read_history(path, {.memory_bytes_max = budget.memory_bytes,
                                     .format = conventions.format,
                                     .independent = conventions.independent});
  if (!history) return history.error();
  apply(conventions, history->mutable_header());
  if (auto meant = warn_of_initials(*history); !meant) return about_file(*history, meant.error());
  if (conventions.key) {
    history = only_key(*history, Symbol(*conventions.key));
    if (!history) return history.error();
  }
  checked.history = std::move(*history);
  checked.read_time = since(start);
  if (limits.has_read) limits.has_read();

  const auto read = Clock::now();
  budget.exhausted = exhausted_from(read, limits);
  const auto& named =
      conventions.checkers.empty() ? checked.history.header().checkers : conventions.checkers;
  Proof* proof = conventions.prove ? &checked.proof : nullptr;
  auto verdict = check_history(checked.history, named, budget, proof);
  if (!verdict) return about_file(checked.history, verdict.error());
  checked.verdict = std::move(*verdict);
  if (proof && proof->model.empty()) {  // no checker that was asked for finds orders
    auto orders = prove(checked.history, budget);
    if (!orders) return about_file(checked.history, orders.error());
    *proof = std::move(*orders);
  }
  if (conventions.key) checked.proof.only_key = Symbol(*conventions.key);
  checked.check_time = since(read);
  return checked;
}

}  // namespace assay
