#include "checkers/linearizable/keywise.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <unordered_map>

#include "checkers/facts.h"
#include "checkers/history/vocabulary.h"
#include "checkers/key_events.h"
#include "checkers/words.h"

namespace assay::linearizable {
namespace {

// Parts of one operation overlap, and are of processes of their own: p3 is p10000003, p20000003 …
constexpr int64_t kParts = 10'000'000;

bool on_many_keys(Symbol f) { return f == f::list || f == f::txn; }

struct Part {
  Position at;
  bool ends;
  uint32_t number;  // among the parts of its operation
  Symbol key;
  const KeyEvent* event;
};

Op invocation_of(const History& history, const Part& part) {
  const Operation operation = history[part.event->id];
  Op op;
  op.process = operation.process();
  op.time = operation.invoke_time();
  op.key = part.key;
  op.node = operation.node();
  op.f = operation.f();
  if (!on_many_keys(op.f)) {
    op.value = operation.argument();
    op.expected = operation.expected();
    op.extra = operation.invoke_extra();
    return op;
  }
  op.process.id += kParts * (part.number + 1);
  op.f = part.event->did == Did::kRead ? f::read : part.event->deletes() ? f::delete_ : f::write;
  if (op.f == f::write) op.value = part.event->value;
  op.expected = part.event->expected;
  return op;
}
Op completion_of(const History& history, const Part& part) {
  const Operation operation = history[part.event->id];
  Op op = complete(invocation_of(history, part), part.event->type);
  op.expected = Token();
  op.extra = Value();
  op.time = operation.return_time();
  if (part.event->did == Did::kRead) op.value = part.event->value;
  op.revision = part.event->type == OpType::kOk ? part.event->revision : Token();
  op.at = operation.at();
  if (!operation.error_class().empty())
    op.error = OpError{operation.error_class(), std::string(operation.error_text()),
                       operation.error_current(), {}};
  return op;
}

std::vector<Part> parts_of(const History& history, const KeyEvents& events) {
  std::vector<Part> parts;
  std::unordered_map<uint32_t, uint32_t> numbers;
  for (const KeyTrack& track : events.keys()) {
    for (const KeyEvent& event : track.events) {
      if (event.did == Did::kGuard) continue;
      const Operation operation = history[event.id];
      const uint32_t number = on_many_keys(operation.f()) ? numbers[event.id]++ : 0;
      parts.push_back({event.call, false, number, track.key, &event});
      if (operation.return_position() != kOpen)
        parts.push_back({operation.return_position(), true, number, track.key, &event});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tuple(a.at, a.number) < std::tuple(b.at, b.number);
  });
  return parts;
}

// "p20000003" is "p3" for people.
std::string with_own_processes(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    out += line[i];
    const bool begins = line[i] == 'p' && (i == 0 || !std::isalnum(static_cast<unsigned char>(line[i - 1])));
    if (!begins) continue;
    size_t end = i + 1;
    while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) && end < i + 18) ++end;
    if (end - i - 1 < 8) continue;
    out += std::to_string(std::stoll(line.substr(i + 1, end - i - 1)) % kParts);
    i = end - 1;
  }
  return out;
}

}  // namespace

bool can_be_keywise(const History& history) {
  const std::string& model = history.header().model;
  if (model != "register" && model != "cas-register") return false;
  bool any = false;
  for (size_t id = 0; id < history.size(); ++id) {
    const Symbol f = history[id].f();
    if (!has_key_events(f) && !leaves_keys_alone(f)) return false;
    any |= on_many_keys(f) || leaves_keys_alone(f);
  }
  return any;
}

Keywise keywise(const History& history) {
  const KeyEvents events(history, Absence::kRead);
  const std::vector<Part> parts = parts_of(history, events);
  std::vector<std::pair<Position, const Op*>> others;
  for (const NemesisOp& op : history.nemesis()) {
    others.emplace_back(op.invoke_position, &op.invocation);
    if (op.return_position != kOpen) others.emplace_back(op.return_position, &op.completion);
  }
  for (const Observation& observation : history.observations())
    others.emplace_back(observation.position, &observation.op);
  std::sort(others.begin(), others.end());
  HistoryBuilder builder;
  builder.set_header(history.header());
  Keywise told;
  told.lists_without_absence = events.lists_without_absence();
  for (size_t id = 0; id < history.size(); ++id) told.on_many_keys |= on_many_keys(history[id].f());
  const auto add = [&](Op op) {
    op.index = -1;
    const auto added = builder.add(op);
    ASSAY_CHECK(added.ok(), "%s", added.ok() ? "" : added.error().message.c_str());
  };
  size_t next = 0;
  for (const Part& part : parts) {
    for (; next < others.size() && others[next].first < part.at; ++next) add(*others[next].second);
    if (!part.ends) told.origin.push_back(part.event->id);
    add(part.ends ? completion_of(history, part) : invocation_of(history, part));
  }
  for (; next < others.size(); ++next) add(*others[next].second);
  told.history = builder.build();
  return told;
}

void in_terms_of_origin(const Keywise& told, Verdict& verdict) {
  verdict.reason = with_own_processes(verdict.reason);
  for (auto& [name, text] : verdict.facts) text = with_own_processes(text);
  if (verdict.witness) {
    std::vector<size_t> ids;
    for (size_t id : verdict.witness->operations) {
      const size_t own = told.origin[id];
      if (std::find(ids.begin(), ids.end(), own) == ids.end()) ids.push_back(own);
    }
    verdict.witness->operations = std::move(ids);
    for (std::string& line : verdict.witness->lines) line = with_own_processes(line);
    if (auto& order = verdict.witness->order) {
      for (OrderStep& step : order->steps) step.operation = told.origin[step.operation];
      if (order->breaks) order->breaks = told.origin[*order->breaks];
    }
  }
  for (Verdict& child : verdict.children) in_terms_of_origin(told, child);
}

}  // namespace assay::linearizable
