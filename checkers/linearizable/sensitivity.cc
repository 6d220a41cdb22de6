#include "checkers/linearizable/sensitivity.h"

#include <algorithm>
#include <optional>

#include "checkers/history/vocabulary.h"

namespace assay::linearizable {
namespace {

constexpr int kAttemptsPerEdit = 12;

// Whether an operation, once it has happened, has shown or made the state to be something.
bool shows(const KeyOp& op, const Conventions& conventions) {
  if (op.type != OpType::kOk) return false;
  return op.f != Call::kRead || conventions.null_read_is_value || op.value != Scalar{};
}

// An operation that returned before `victim` was invoked, showing another state than v, where every
// operation that may make v had returned before it was invoked, or begins after the victim's
// return. Then the state is not v at any time of the victim. The first such one, or nothing.
std::optional<uint32_t> proof_against(const KeyHistory& key, const Scalar& v, const KeyOp& victim) {
  Position last = 0;
  for (const KeyOp& op : key.ops) {
    if (op.call > victim.ret) break;
    if (&op == &victim || !op.may_produce() || op.produced() != v) continue;
    if (op.type == OpType::kInfo) return std::nullopt;
    last = std::max(last, op.ret);
  }
  if (last >= victim.call) return std::nullopt;
  for (uint32_t i = 0; i < key.ops.size() && key.ops[i].call < victim.call; ++i) {
    const KeyOp& op = key.ops[i];
    if (op.call < last || op.ret >= victim.call || !shows(op, key.conventions)) continue;
    if (op.produced() != v) return i;
  }
  return std::nullopt;
}

// Values that were current at some time before a position, as far as one can tell.
std::vector<Scalar> values_before(const KeyHistory& key, Position position) {
  std::vector<Scalar> values{key.conventions.initial};
  for (const KeyOp& op : key.ops) {
    if (op.call >= position) break;
    if (op.type != OpType::kOk || op.f == Call::kRead || op.ret >= position) continue;
    if (std::find(values.begin(), values.end(), op.produced()) == values.end()) {
      values.push_back(op.produced());
    }
  }
  return values;
}

bool says_nothing(const KeyHistory& key, const Scalar& v) {
  return v == Scalar{} && !key.conventions.null_read_is_value;
}

// Draws an operation that `fits`, from a random place on.
template <typename Fits>
std::optional<uint32_t> draw(const KeyHistory& key, Rng& rng, const Fits& fits) {
  if (key.ops.empty()) return std::nullopt;
  const auto from = static_cast<uint32_t>(rng.below(key.ops.size()));
  for (uint32_t step = 0; step < key.ops.size(); ++step) {
    const auto i = static_cast<uint32_t>((from + step) % key.ops.size());
    if (fits(key.ops[i])) return i;
  }
  return std::nullopt;
}

bool is_answered_read(const KeyOp& op) { return op.f == Call::kRead && op.type == OpType::kOk; }

bool make_stale_read(const KeyHistory& key, Rng& rng, EditedKey& out) {
  const auto victim = draw(key, rng, is_answered_read);
  if (!victim) return false;
  const KeyOp& op = key.ops[*victim];
  std::vector<Scalar> values = values_before(key, op.call);
  rng.shuffle(values);
  for (const Scalar& v : values) {
    if (v == op.value || says_nothing(key, v)) continue;
    const auto proof = proof_against(key, v, op);
    if (!proof) continue;
    out.history = key;
    out.history.ops[*victim].value = v;
    out.operation = *victim;
    out.reference = *proof;
    return true;
  }
  return false;
}

// As if an acknowledged write had never happened: the reads that saw it until the next change see
// what was there before.
bool make_lost_write(const KeyHistory& key, Rng& rng, EditedKey& out) {
  const auto lost =
      draw(key, rng, [](const KeyOp& op) { return op.f != Call::kRead && op.type == OpType::kOk; });
  if (!lost) return false;
  const KeyOp& write = key.ops[*lost];
  std::optional<Scalar> before;
  if (write.f == Call::kCas) before = write.value;
  for (uint32_t i = 0; i < *lost && write.f != Call::kCas; ++i) {
    const KeyOp& op = key.ops[i];
    if (op.ret < write.call && shows(op, key.conventions)) before = op.produced();
  }
  if (!before) before = key.conventions.initial;
  if (*before == write.produced() || says_nothing(key, *before)) return false;
  Position next_change = kOpen;
  for (uint32_t i = *lost + 1; i < key.ops.size(); ++i) {
    const KeyOp& op = key.ops[i];
    if (op.call > write.ret && op.may_produce()) {
      next_change = op.call;
      break;
    }
  }
  std::optional<uint32_t> first;
  for (uint32_t i = *lost + 1; i < key.ops.size() && key.ops[i].call < next_change; ++i) {
    const KeyOp& op = key.ops[i];
    if (op.call < write.ret || !is_answered_read(op) || op.value != write.produced()) continue;
    if (!first) {
      const auto proof = proof_against(key, *before, op);
      if (!proof) return false;
      first = i;
      out.history = key;
      out.operation = i;
      out.reference = *proof;
    }
    out.history.ops[i].value = *before;
  }
  return first.has_value();
}

// A cas that failed is reported as done although its value was certainly not there; or one that was
// done as failed although its value, which nothing else makes, was seen; or one as done from a
// value that was certainly not there.
bool make_swapped_cas(const KeyHistory& key, Rng& rng, EditedKey& out) {
  const auto victim = draw(key, rng, [](const KeyOp& op) {
    return op.f == Call::kCas && (op.type == OpType::kOk || op.mismatch) && op.value != op.next;
  });
  if (!victim) return false;
  const KeyOp& op = key.ops[*victim];
  if (op.type == OpType::kFail) {
    const auto proof = proof_against(key, op.value, op);
    if (!proof) return false;
    out.history = key;
    out.history.ops[*victim].type = OpType::kOk;
    out.reference = *proof;
  } else {
    const bool only_maker =
        op.next != key.conventions.initial &&
        std::none_of(key.ops.begin(), key.ops.end(), [&](const KeyOp& other) {
          return &other != &op && other.may_produce() && other.produced() == op.next;
        });
    const auto reader = std::find_if(key.ops.begin(), key.ops.end(), [&](const KeyOp& other) {
      return &other != &op && other.type == OpType::kOk && other.f != Call::kWrite &&
             other.value == op.next && !says_nothing(key, other.value);
    });
    out.history = key;
    if (only_maker && reader != key.ops.end()) {
      out.history.ops[*victim].type = OpType::kFail;
      out.reference = static_cast<uint32_t>(reader - key.ops.begin());
    } else {
      std::vector<Scalar> values = values_before(key, op.call);
      rng.shuffle(values);
      std::optional<uint32_t> proof;
      for (size_t i = 0; i < values.size() && !proof; ++i) {
        if (values[i] == op.value || values[i] == op.next) continue;
        proof = proof_against(key, values[i], op);
        if (proof) out.history.ops[*victim].value = values[i];
      }
      if (!proof) return false;
      out.reference = *proof;
    }
  }
  out.operation = *victim;
  return true;
}

// Draws keys in proportion to their operations, and remembers what was read of them.
class DrawnKeys {
 public:
  DrawnKeys(const History& history, const std::vector<KeyGroup>& groups, size_t operations_max)
      : history_(history), groups_(groups), operations_max_(operations_max) {
    for (const KeyGroup& group : groups) ends_.push_back(total_ += group.ids.size());
  }
  KeyHistory draw(Rng& rng) const {
    const uint64_t at = rng.below(total_);
    const size_t g =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
    KeyGroup part{groups_[g].key, {}};
    const auto& ids = groups_[g].ids;
    part.ids.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(ids.size(), operations_max_)));
    KeyHistory key = key_history(history_, part);
    if (part.ids.size() == ids.size()) return key;
    return cut_at(key, history_[ids[part.ids.size()]].invoke_position());
  }
  size_t total() const { return total_; }

 private:
  const History& history_;
  const std::vector<KeyGroup>& groups_;
  const size_t operations_max_;
  std::vector<size_t> ends_;
  size_t total_ = 0;
};

}  // namespace

KeyHistory cut_at(const KeyHistory& key, Position position) {
  KeyHistory part = key;
  std::erase_if(part.ops, [&](const KeyOp& op) { return op.call >= position; });
  for (KeyOp& op : part.ops) {
    if (op.ret == kOpen || op.ret < position) continue;
    op.type = OpType::kInfo;
    op.mismatch = false;
  }
  return part;
}

bool make_edit(const KeyHistory& key, Edit kind, Rng& rng, EditedKey& out) {
  out.kind = kind;
  switch (kind) {
    case Edit::kStaleRead:
      return make_stale_read(key, rng, out);
    case Edit::kLostWrite:
      return make_lost_write(key, rng, out);
    case Edit::kSwappedCas:
      return make_swapped_cas(key, rng, out);
  }
  return false;
}

Sensitivity measure_sensitivity(const History& history, const std::vector<KeyGroup>& groups,
                                Rng rng, const SensitivityOptions& options, const Judge& judge) {
  Sensitivity result;
  result.reads = read_claim(history.header()) == "linearizable";
  const DrawnKeys keys(history, groups, options.operations_max);
  if (keys.total() == 0) return result;
  uint64_t work_left = options.work_max;
  auto try_edit = [&](Edit kind) {
    EditedKey edited;
    for (int attempt = 0; attempt < kAttemptsPerEdit; ++attempt) {
      if (!make_edit(keys.draw(rng), kind, rng, edited)) continue;
      SearchOptions search_options;
      search_options.work_max = work_left;
      search_options.exhausted = options.exhausted;
      const SearchResult found = judge(prepare(edited.history), search_options);
      work_left -= std::min(work_left, found.counters.work + edited.history.ops.size());
      if (found.outcome == Outcome::kUnknown) break;
      Sensitivity::Kind& count = result.kinds[static_cast<int>(kind)];
      ++count.made;
      count.caught += found.outcome == Outcome::kInvalid;
      if (kind == Edit::kStaleRead) {
        const auto& ops = edited.history.ops;
        const Nanos lag = history[ops[edited.operation].id].invoke_time() -
                          history[ops[edited.reference].id].return_time();
        const bool first = count.made == 1;
        result.stale_least = first ? lag : std::min(result.stale_least, lag);
        result.stale_most = first ? lag : std::max(result.stale_most, lag);
      }
      return true;
    }
    return false;
  };
  // Round and round, so that the parts are equal; a kind that finds no place is given up.
  bool possible[kEditKinds] = {true, true, true};
  while (result.made() < options.edits) {
    bool any = false;
    for (int kind = 0; kind < kEditKinds && result.made() < options.edits; ++kind) {
      if (!possible[kind]) continue;
      if (work_left == 0 || (options.exhausted && options.exhausted())) {
        result.cut_short = true;
        return result;
      }
      possible[kind] = try_edit(static_cast<Edit>(kind));
      any |= possible[kind];
    }
    if (!any) break;
  }
  return result;
}

std::string Sensitivity::sentence(const SensitivityOptions& options) const {
  if (made() == 0) {
    return reads
               ? "no illegal edit of this history could be made, so nothing is known of what "
                 "would have been caught"
               : "no illegal edit of the changes could be made, so nothing is known of what would "
                 "have been caught among them";
  }
  static constexpr const char* kNames[kEditKinds] = {"stale reads", "lost writes", "swapped CAS"};
  std::string parts;
  for (int kind = 0; kind < kEditKinds; ++kind) {
    if (kinds[kind].made == 0) continue;
    parts += (parts.empty() ? "" : ", ") + std::to_string(kinds[kind].caught) + " of " +
             std::to_string(kinds[kind].made) + " " + kNames[kind];
    if (kind == 0 && stale_most.count > 0) {
      parts += stale_least == stale_most ? " (by " + format_duration(stale_most) + ")"
                                         : " (by " + format_duration(stale_least) + " to " +
                                               format_duration(stale_most) + ")";
    }
  }
  std::string text = std::to_string(caught()) + " of " + std::to_string(made()) +
                     " illegal edits " + (reads ? "" : "of the changes ") + "were caught: " + parts;
  if (made() < options.edits_min) {
    text += cut_short ? "; the budget ended before there were more"
                      : "; no more could be made in this history";
  }
  return text;
}

}  // namespace assay::linearizable
