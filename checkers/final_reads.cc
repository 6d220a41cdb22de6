#include "checkers/final_reads.h"

#include <algorithm>
#include <map>

#include "checkers/history/vocabulary.h"

namespace assay {

bool has_final_reads(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if ((op.f() == f::read || op.f() == f::list) && phase_of(op) == "final") return true;
  }
  return false;
}

FinalReads::FinalReads(const History& history, const KeyEvents& events) : history_(history) {
  std::map<std::pair<Symbol, Symbol>, uint32_t> lists;  // by node and prefix: the last
  for (uint32_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (op.f() == f::list && op.type() == OpType::kOk && phase_of(op) == "final")
      lists[{op.node(), op.key()}] = id;
  }
  std::unordered_map<uint32_t, bool> last_list;
  for (const auto& [of, id] : lists) last_list[id] = true;
  for (const KeyTrack& track : events.keys()) {
    for (const auto& [of, id] : lists) {
      if (!track.key.text().starts_with(of.second.text())) continue;
      const Operation op = history[id];
      put(track.key, {.id = id, .call = op.invoke_position(), .ret = op.return_position(),
                      .type = OpType::kOk, .alone = false, .latest = true,
                      .revision = Token(int64_t{0}), .at = op.at()});
    }
    for (const KeyEvent& event : track.events) {
      if (event.did != Did::kRead || !event.ok()) continue;
      const Operation op = history[event.id];
      if (op.f() == f::list ? last_list.contains(event.id) : phase_of(op) == "final")
        put(track.key, event);
    }
  }
}

void FinalReads::put(Symbol key, const KeyEvent& read) {
  const Symbol node = history_[read.id].node();
  nodes_.insert(node);
  std::vector<KeyEvent>& reads = last_[key];
  const auto same = std::find_if(reads.begin(), reads.end(), [&](const KeyEvent& other) {
    return history_[other.id].node() == node;
  });
  if (same == reads.end()) {
    reads.push_back(read);
  } else if (read.call >= same->call) {
    *same = read;
  }
}

const std::vector<KeyEvent>& FinalReads::of(Symbol key) const {
  static const std::vector<KeyEvent> none;
  const auto at = last_.find(key);
  return at == last_.end() ? none : at->second;
}

}  // namespace assay
