#include "checkers/key_events.h"

#include <algorithm>
#include <unordered_map>

#include "checkers/history/vocabulary.h"

namespace assay {
namespace {

const Symbol kConflict{"conflict"}, kMismatch{"mismatch"};

Symbol key_of(const Value& name) {
  return name.is_string() ? name.as_symbol() : Symbol(name.normalized().to_json());
}

bool is_step(const Value& step, std::string_view what) {
  return step.is_array() && step.as_array().size() == 3 && step.as_array()[0].is_string() &&
         (step.as_array()[0].as_text() == what || step.as_array()[0].as_text() == what.substr(0, 1));
}

bool is_list_entry(const Value& entry) {
  return entry.is_array() && entry.as_array().size() == 3 && entry.as_array()[0].is_string();
}

KeyEvent event_of(const Operation& op) {
  KeyEvent event{.id = static_cast<uint32_t>(op.id()),
                 .call = op.invoke_position(),
                 .ret = op.type() == OpType::kInfo ? kOpen : op.return_position(),
                 .type = op.type(),
                 .at = op.at()};
  const Symbol cls = op.error_class();
  event.conflict = event.type == OpType::kFail && (cls == kConflict || cls == kMismatch);
  event.revision = event.conflict ? op.error_current() : op.revision();
  event.latest = true;
  return event;
}

// [[key, token] …]
std::vector<std::pair<Symbol, Token>> keys_and_tokens(const Value& list) {
  std::vector<std::pair<Symbol, Token>> all;
  if (!list.is_array()) return all;
  for (const Value& item : list.as_array()) {
    if (!item.is_array() || item.as_array().size() != 2) continue;
    all.emplace_back(key_of(item.as_array()[0]), token_of(item.as_array()[1]));
  }
  return all;
}
// Of a txn whose keys have tokens of their own.
std::vector<std::pair<Symbol, Token>> tokens_made_by(const Operation& txn) {
  return txn.type() == OpType::kOk ? keys_and_tokens(txn.return_extra()["revisions"])
                                   : std::vector<std::pair<Symbol, Token>>{};
}

class Reader {
 public:
  // only: of these keys alone; nullptr: of all.
  Reader(const History& history, std::vector<KeyTrack>& keys,
         const std::unordered_set<Symbol>* only = nullptr)
      : history_(history),
        only_(only),
        reads_latest_(read_claim(history.header()) == "linearizable"),
        keys_(keys) {}

  void read_all() {
    reserve();
    for (size_t id = 0; id < history_.size(); ++id) read(history_[id]);
  }
  const std::vector<uint32_t>& lists() const { return lists_; }
  KeyEvent list_event(uint32_t id) const {
    KeyEvent event = event_of(history_[id]);
    event.latest = latest(history_[id]);
    event.revision = Token(int64_t{0});
    event.alone = false;
    return event;
  }
  size_t ordinal(Symbol key) {
    if (key == last_key_ && !keys_.empty()) return last_;
    const auto [at, fresh] = index_.try_emplace(key, keys_.size());
    if (fresh) keys_.push_back({key, {}});
    last_key_ = key;
    return last_ = at->second;
  }

 private:
  static bool on_one_key(Symbol f) {
    return f == f::read || f == f::write || f == f::cas || f == f::delete_;
  }
  void reserve() {
    std::vector<uint32_t> counts;
    for (size_t id = 0; id < history_.size(); ++id) {
      if (!on_one_key(history_[id].f()) || !wanted(history_[id].key())) continue;
      const size_t key = ordinal(history_[id].key());
      if (key == counts.size()) counts.push_back(0);
      ++counts[key];
    }
    for (size_t key = 0; key < counts.size(); ++key) keys_[key].events.reserve(counts[key]);
  }
  bool latest(const Operation& op) const {
    return reads_latest_ && !op.invoke_extra().bool_or("stale", false);
  }
  bool wanted(Symbol key) const { return only_ == nullptr || only_->contains(key); }
  void add(Symbol key, KeyEvent event) {
    if (wanted(key)) keys_[ordinal(key)].events.push_back(std::move(event));
  }

  void read(const Operation& op) {
    const Symbol f = op.f();
    if (f == f::list) return read_list(op);
    if (f == f::txn) return read_txn(op);
    if (!on_one_key(f) || !wanted(op.key())) return;
    KeyEvent event = event_of(op);
    if (f == f::read) {
      event.latest = latest(op);
      if (event.ok()) event.value = op.result();
    } else {
      event.did = Did::kWrite;
      event.expected = op.expected();
      if (f == f::write) event.value = op.argument();
      if (f == f::cas && is_pair(op.argument())) event.value = op.argument().as_array()[1];
    }
    add(op.key(), std::move(event));
  }
  static bool is_pair(const Value& value) {
    return value.is_array() && value.as_array().size() == 2;
  }

  void read_list(const Operation& op) {
    const Value result = op.result();
    if (op.type() != OpType::kOk || !result.is_array()) return;
    lists_.push_back(static_cast<uint32_t>(op.id()));
    for (const Value& entry : result.as_array()) {
      if (!is_list_entry(entry)) continue;
      KeyEvent event = list_event(static_cast<uint32_t>(op.id()));
      event.value = entry.as_array()[1];
      event.revision = token_of(entry.as_array()[2]);
      add(entry.as_array()[0].as_symbol(), std::move(event));
    }
  }

  void read_txn(const Operation& op) {
    const auto writes = writes_of_txn(op.argument());
    const auto guards = guards_of_txn(op);
    const auto made = tokens_made_by(op);
    const Value found = op.type() == OpType::kOk ? op.result() : Value();
    size_t reads = 0;
    if (found.is_array()) {
      for (const Value& step : found.as_array()) {
        if (!is_step(step, "read")) continue;
        ++reads;
        KeyEvent event = event_of(op);
        event.revision = Token();
        event.alone = false;
        event.value = step.as_array()[2];
        // What it wrote itself before it read says nothing of the state before.
        const Symbol key = key_of(step.as_array()[1]);
        if (std::none_of(writes.begin(), writes.end(),
                         [&](const auto& write) { return write.first == key; }))
          add(key, std::move(event));
      }
    }
    for (size_t i = 0; i < writes.size(); ++i) {
      const Symbol key = writes[i].first;  // clang captures no structured binding
      const Value& value = writes[i].second;
      const bool again = std::any_of(writes.begin() + static_cast<ptrdiff_t>(i) + 1, writes.end(),
                                     [&](const auto& write) { return write.first == key; });
      if (again) continue;  // the last one counts
      KeyEvent event = event_of(op);
      event.did = Did::kWrite;
      event.value = value;
      for (const auto& [written, token] : made)
        if (written == key) event.revision = token;
      if (event.ok() && value.is_null()) event.revision = Token(int64_t{0});
      for (const auto& [guarded, token] : guards)
        if (guarded == key) event.expected = token;
      event.alone = guards.size() == 1 && guards[0].first == key;
      if (event.conflict && !event.alone) event.revision = Token();
      add(key, std::move(event));
    }
    for (const auto& [key, token] : guards) {
      if (std::any_of(writes.begin(), writes.end(),
                      [&, &key = key](const auto& write) { return write.first == key; }))
        continue;
      KeyEvent event = event_of(op);
      event.did = Did::kGuard;
      event.expected = token;
      event.alone = guards.size() == 1;
      if (event.ok()) event.revision = token;
      if (event.conflict && !event.alone) event.revision = Token();
      add(key, std::move(event));
    }
  }

  const History& history_;
  const std::unordered_set<Symbol>* only_;
  const bool reads_latest_;
  std::vector<KeyTrack>& keys_;
  std::unordered_map<Symbol, size_t> index_;
  std::vector<uint32_t> lists_;
  Symbol last_key_;
  size_t last_ = 0;
};

// The keys in order of their texts: those under a prefix stand together.
class Prefixes {
 public:
  explicit Prefixes(const std::vector<KeyTrack>& keys) : keys_(keys) {
    for (uint32_t i = 0; i < keys.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return keys_[a].key.text() < keys_[b].key.text();
    });
  }
  template <typename Fn>
  void each_under(std::string_view prefix, const Fn& fn) const {
    auto at = std::lower_bound(order_.begin(), order_.end(), prefix,
                               [&](uint32_t key, std::string_view text) {
                                 return keys_[key].key.text() < text;
                               });
    for (; at != order_.end() && keys_[*at].key.text().starts_with(prefix); ++at) fn(*at);
  }

 private:
  const std::vector<KeyTrack>& keys_;
  std::vector<uint32_t> order_;
};

}  // namespace

bool has_key_events(Symbol f) {
  return f == f::read || f == f::write || f == f::cas || f == f::delete_ || f == f::list ||
         f == f::txn;
}

bool leaves_keys_alone(Symbol f) { return f == f::watch || f == f::compact; }

KeyEvents::KeyEvents(const History& history, const std::unordered_set<Symbol>& keys) {
  Reader(history, keys_, &keys).read_all();
}

KeyEvents::KeyEvents(const History& history, Absence absence) {
  Reader reader(history, keys_);
  reader.read_all();
  if (absence == Absence::kIgnored || reader.lists().empty()) return;
  // From when on a key may have been there: before, that it is not in a list says nothing.
  constexpr size_t kPerOperation = 4;
  size_t left = 100'000 + kPerOperation * history.size();
  const size_t known = keys_.size();
  std::vector<Position> since(known, kOpen);
  std::vector<uint32_t> listed(known, UINT32_MAX);
  std::vector<size_t> sorted_to(known);
  for (size_t key = 0; key < known; ++key) {
    sorted_to[key] = keys_[key].events.size();
    for (const KeyEvent& event : keys_[key].events) {
      if (event.did != Did::kWrite || !event.may_have_happened() || event.deletes()) continue;
      since[key] = event.call;
      break;
    }
  }
  const Prefixes prefixes(keys_);
  for (uint32_t id : reader.lists()) {
    const Value result = history[id].result();
    for (const Value& entry : result.as_array())
      if (is_list_entry(entry)) listed[reader.ordinal(entry.as_array()[0].as_symbol())] = id;
    const KeyEvent absent = reader.list_event(id);
    std::vector<uint32_t> missing;
    prefixes.each_under(history[id].key().text(), [&](uint32_t key) {
      if (listed[key] != id && since[key] < absent.ret) missing.push_back(key);
    });
    if (missing.size() > left) {
      ++lists_without_absence_;
      continue;
    }
    left -= missing.size();
    for (uint32_t key : missing) keys_[key].events.push_back(absent);
  }
  for (size_t key = 0; key < known; ++key) {
    auto& events = keys_[key].events;
    if (events.size() == sorted_to[key]) continue;
    std::inplace_merge(events.begin(), events.begin() + static_cast<ptrdiff_t>(sorted_to[key]),
                       events.end(),
                       [](const KeyEvent& a, const KeyEvent& b) { return a.call < b.call; });
  }
}

Result<void> key_events_fit(const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    const Operation op = history[id];
    if (op.f() == f::list && op.type() == OpType::kOk) {
      const Value result = op.result();
      const bool fits = result.is_array() && std::all_of(result.as_array().begin(),
                                                         result.as_array().end(), is_list_entry);
      if (!fits)
        return history.error_at_answer(
            op, "list needs [[key, value, revision] ...], found " + result.to_json());
    }
    if (op.f() == f::txn) {
      const Value steps = op.argument();
      const bool fits =
          steps.is_array() && std::all_of(steps.as_array().begin(), steps.as_array().end(),
                                          [](const Value& step) {
                                            return is_step(step, "write") || is_step(step, "read");
                                          });
      if (!fits)
        return history.error_at(op, "txn needs [[\"w\", key, value] ...], found " +
                                        steps.to_json());
    }
  }
  return {};
}

std::vector<std::pair<Symbol, Value>> writes_of_txn(const Value& steps) {
  std::vector<std::pair<Symbol, Value>> writes;
  if (!steps.is_array()) return writes;
  for (const Value& step : steps.as_array()) {
    if (is_step(step, "write")) writes.emplace_back(key_of(step.as_array()[1]), step.as_array()[2]);
  }
  return writes;
}

std::vector<std::pair<Symbol, Token>> guards_of_txn(const Operation& txn) {
  return keys_and_tokens(txn.invoke_extra()["guards"]);
}

Token token_of(const Value& value) {
  if (value.is_int()) return Token(value.as_int());
  return value.is_string() ? Token(value.as_symbol()) : Token();
}

std::optional<int64_t> number_of(Token token) {
  if (!token.is_number()) return std::nullopt;
  return token.number();
}

std::string who(const Operation& operation) {
  const bool reads = operation.f() == f::read || operation.f() == f::list;
  std::string text = "p" + std::to_string(operation.process().id);
  if (!operation.node().empty())
    text += (reads ? " from " : " through ") + std::string(operation.node().text());
  return text;
}

std::string when(const Operation& operation) {
  const bool open = operation.return_position() == kOpen;
  if (operation.invoke_time().count < 0) {
    return "index " + std::to_string(operation.invoke_index()) +
           (open ? ", not answered" : " to " + std::to_string(operation.return_index()));
  }
  return format_point(operation.invoke_time()) +
         (open ? ", not answered" : " to " + format_point(operation.return_time()));
}

std::string token_text(Token token) {
  if (token.none()) return "none";
  if (!token.is_number()) return std::string(token.text().text());
  return token.number() == 0 ? "0 (absent)" : std::to_string(token.number());
}

std::string sentence_of(const History& history, const KeyEvent& event) {
  const Operation operation = history[event.id];
  const bool absent = event.revision == Token(int64_t{0});
  std::string text = who(operation) + " ";
  const std::string written =
      event.deletes() ? "delete the key" : "write " + event.value.to_json();
  if (event.did == Did::kGuard) {
    text += event.ok() ? "found its guard to hold" : "compared the token in a transaction";
  } else if (event.did == Did::kRead) {
    text += event.value.is_null() ? "found the key absent" : "read " + event.value.to_json();
  } else if (event.ok()) {
    text += event.deletes() ? "deleted the key" : "wrote " + event.value.to_json();
  } else if (event.type == OpType::kFail) {
    text += "was refused to " + written;
  } else {
    text += "tried to " + written + ", outcome unknown";
  }
  if (event.conflict && !event.revision.none()) {
    text += absent ? ", the key being absent" : ", current being revision " + token_text(event.revision);
  } else if (event.ok() && !event.revision.none() && !absent) {
    text += " at revision " + token_text(event.revision);
  } else if (event.ok() && absent && !event.at.none()) {
    text += ", the store being at revision " + token_text(event.at);
  }
  if (event.guarded())
    text += event.creates() ? ", on condition that the key was absent"
                            : ", on condition that revision " + token_text(event.expected) +
                                  " was current";
  return text + " (" + when(operation) + ")";
}

}  // namespace assay
