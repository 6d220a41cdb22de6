#include "workloads/intent_workload.h"

#include <algorithm>

namespace assay {

std::vector<WorkloadOption> IntentWorkload::options() const {
  auto options = intent_options();
  options.push_back({"writers", "0", "on each key; 0: half of its workers"});
  return options;
}

int IntentWorkload::group_min(const std::map<std::string, std::string>& settings) const {
  WorkloadOptions options{Rng(0)};
  options.settings = settings;
  SettingsReader reader(*this, options);
  return static_cast<int>(reader.number("writers", 0, writers_max()));
}

Op IntentWorkload::look(Symbol key) const {
  Op op;
  op.f = f::read;
  op.key = key;
  return op;
}

Result<std::unique_ptr<WorkloadRun>> IntentWorkload::start(const WorkloadOptions& options) const {
  SettingsReader settings(*this, options);
  const IntentOptions intent = read_intent_options(settings);
  const auto asked = static_cast<int>(settings.number("writers", 0, writers_max()));
  if (settings.mistake()) return *settings.mistake();
  const int group = options.group_size;
  const int half = std::min(group - readers_of_group(group), writers_max());
  const int writers = asked > 0 ? std::min(asked, group) : half;
  const auto numbers = std::make_shared<Numbers>();
  const auto make_key = [=, this, change = changes()](Symbol key, Rng rng) {
    const auto make_actor = [=, this](int place) -> std::unique_ptr<Actor> {
      const int writer = place - (group - writers);
      if (writer < 0) return reader(look(key));
      const Rng own = rng.stream("writer" + std::to_string(writer));
      return intents(change(key, writer, own.stream("change")), intent, numbers, own);
    };
    return actors(make_actor, operations_of_key(options, rng));
  };
  return KeyedRun::start(*this, options, make_key,
                         {.whole = true, .last_look = [this](Symbol key) { return look(key); }});
}

Listed listed_at(const Op& list, Symbol key) {
  for (auto& [name, listed] : listed_all(list)) {
    if (name == key) return listed;
  }
  return {};
}

std::vector<std::pair<Symbol, Listed>> listed_all(const Op& list) {
  std::vector<std::pair<Symbol, Listed>> all;
  if (!list.value.is_array()) return all;
  for (const Value& row : list.value.as_array()) {
    if (!row.is_array() || row.as_array().size() != 3 || !row.as_array()[0].is_string()) continue;
    const Value& revision = row.as_array()[2];
    Listed listed{row.as_array()[1], Token()};
    if (revision.is_int()) listed.token = Token(revision.as_int());
    if (revision.is_string()) listed.token = Token(revision.as_symbol());
    all.emplace_back(row.as_array()[0].as_symbol(), std::move(listed));
  }
  return all;
}

Op list_of_prefix(const std::string& prefix) {
  Op op;
  op.f = f::list;
  op.key = Symbol(prefix);
  return op;
}

}  // namespace assay
