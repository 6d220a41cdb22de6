#include "checkers/linearizable/general_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <tuple>

#include "checkers/linearizable/random_histories.h"
#include "checkers/linearizable/testing_toys.h"
#include "checkers/models/registry.h"

namespace assay::linearizable {
namespace {

// How many small histories of each model are compared: ASSAY_HISTORIES, else some seconds' worth.
uint64_t toys_wanted() {
  if (const char* set = std::getenv("ASSAY_HISTORIES")) return std::strtoull(set, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  return 3'000;
#else
  return 7'000;
#endif
}

// Without its reductions the search has much to do: they are switched off where there is little.
GeneralSearchOptions draw_general_options(size_t operations, Rng& rng) {
  GeneralSearchOptions options;
  options.want_order = true;
  if (rng.chance(1, 2)) return options;
  constexpr uint32_t kBeams[] = {0, 1, 2, 3, 50};
  options.beam = kBeams[rng.below(5)];
  options.rungs = static_cast<int>(rng.below(6));
  options.over_approximation = rng.chance(1, 2);
  options.pending_min = rng.chance(1, 4) ? 70 : 0;
  if (operations > 7) return options;
  options.general.free_changes = rng.chance(3, 4);
  options.general.symmetry = rng.chance(3, 4);
  options.general.dominance = rng.chance(3, 4);
  options.general.lost_states = rng.chance(3, 4);
  options.general.unseen_states = rng.chance(3, 4);
  return options;
}

ToyHistory draw_toy_history(const Toy& toy, Rng& rng) {
  constexpr int kInfo[] = {0, 15, 30};
  ToyOptions options;
  options.processes = rng.chance(1, 10) ? 6 : 1 + static_cast<int>(rng.below(4));
  options.operations = 3 + static_cast<int>(rng.below(10));
  options.info_percent = kInfo[rng.below(3)];
  options.simulate = rng.chance(5, 6);
  ToyHistory history = draw_history(toy, options, rng);
  if (options.simulate) spoil(history, toy, rng);
  return history;
}

// Judges one part; an order that is found is replayed.
Outcome judge_part(const History& history, const assay::Model& model, const PartGroup& group,
                   const GeneralSearchOptions& options, std::map<std::string, int>* stages) {
  const GeneralProblem problem = prepare(history, model, group);
  const SearchResult result = general_search(problem, options);
  if (stages) ++(*stages)[std::string(to_string(result.stage))];
  if (result.outcome == Outcome::kValid && options.want_order) {
    EXPECT_EQ(replay(history, model, group, linear_order(problem, result.placements)), "");
  }
  return result.outcome;
}

// Of each of the histories that are in one.
std::vector<Outcome> judge_toys(const Toy& toy, const std::vector<ToyHistory>& toys, Rng* rng,
                                std::map<std::string, int>* stages) {
  const assay::Model& model = *find_model(toy.model());
  const History history = history_of(toy, toys);
  std::vector<Outcome> outcomes(toys.size(), Outcome::kValid);
  for (const PartGroup& group : group_by_part(history, model)) {
    const std::string name(group.part.names[0].text());
    Outcome& outcome = outcomes[std::stoul(name.substr(name.find('k') + 1))];
    const GeneralSearchOptions options = rng ? draw_general_options(group.ids.size(), *rng) : GeneralSearchOptions();
    const Outcome found = judge_part(history, model, group, options, stages);
    if (found != Outcome::kValid) outcome = found;
  }
  return outcomes;
}

constexpr uint64_t kTogether = 50;

TEST(GeneralSearch, AgreesWithTryingEveryOrder) {
  ToyOracle oracle;
  for (const auto& toy : all_toys()) {
    SCOPED_TRACE(toy->model());
    std::map<std::string, int> stages;
    uint64_t valid = 0, told = 0;
    for (uint64_t seed = 1; told < toys_wanted(); ++seed) {
      Rng rng = Rng(seed).stream(toy->model());
      std::vector<ToyHistory> toys;
      for (uint64_t i = 0; i < kTogether; ++i) toys.push_back(draw_toy_history(*toy, rng));
      const std::vector<Outcome> found = judge_toys(*toy, toys, &rng, &stages);
      for (uint64_t i = 0; i < kTogether; ++i, ++told) {
        const bool expected = oracle.valid(*toy, toys[i]);
        ASSERT_EQ(found[i], expected ? Outcome::kValid : Outcome::kInvalid)
            << "seed " << seed << "\n" << to_text(toys[i]);
        valid += expected;
      }
    }
    std::cout << toy->model() << ": " << told << " histories, " << valid << " valid;";
    for (const auto& [stage, count] : stages) std::cout << " " << stage << " " << count << ";";
    std::cout << "\n";
    EXPECT_GT(valid * 4, told) << "too few are valid to say much";
    EXPECT_LT(valid * 4, told * 3) << "too few are invalid to say much";
  }
}

TEST(GeneralSearch, WeakeningAHistoryKeepsItValid) {
  for (const auto& toy : all_toys()) {
    SCOPED_TRACE(toy->model());
    for (uint64_t seed = 1; seed <= toys_wanted() / 1000; ++seed) {
      Rng rng = Rng(seed).stream("weaker/" + toy->model());
      std::vector<ToyHistory> toys;
      for (uint64_t i = 0; i < kTogether; ++i) {
        toys.push_back(draw_history(*toy, {.processes = 5, .operations = 40}, rng));
      }
      for (int round = 0; round < 2; ++round) {
        const std::vector<Outcome> found = judge_toys(*toy, toys, nullptr, nullptr);
        for (uint64_t i = 0; i < kTogether; ++i) {
          ASSERT_EQ(found[i], Outcome::kValid) << "round " << round << "\n" << to_text(toys[i]);
        }
        for (ToyHistory& ops : toys) {
          for (int i = 0; i < 5; ++i) {
            ToyOp& op = ops[rng.below(ops.size())];
            op.type = OpType::kInfo;  // an observer then says nothing: it is dropped
            op.ret = kOpen;
          }
        }
      }
    }
  }
}

Value value_of(const Scalar& s) { return s.kind == 0 ? Value() : Value(s.bits); }

History history_of(const KeyHistory& key) {
  HistoryHeader header;
  header.initial = value_of(key.conventions.initial);
  header.failed_cas_observes = key.conventions.failed_cas_observes;
  header.null_read_is_value = key.conventions.null_read_is_value;
  std::vector<std::pair<Position, Op>> lines;
  for (const KeyOp& op : key.ops) {
    Op line;
    line.process = Process{static_cast<int64_t>(lines.size())};
    line.f = op.f == Call::kRead ? f::read : op.f == Call::kWrite ? f::write : f::cas;
    if (op.f == Call::kWrite) line.value = value_of(op.value);
    if (op.f == Call::kCas) line.value = Value::pair(value_of(op.value), value_of(op.next));
    lines.emplace_back(op.call, line);
    if (op.ret == kOpen) continue;
    line = complete(line, op.type);
    if (op.f == Call::kRead) line.value = value_of(op.value);
    lines.emplace_back(op.ret, line);
  }
  std::sort(lines.begin(), lines.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  HistoryBuilder builder;
  builder.set_header(header);
  for (const auto& [position, line] : lines) EXPECT_TRUE(builder.add(line));
  return builder.build();
}

TEST(GeneralSearch, AgreesWithTheSearchForRegisters) {
  uint64_t valid = 0, told = 0;
  const uint64_t wanted = 10 * toys_wanted();
  for (uint64_t seed = 1; seed <= wanted; ++seed) {
    Rng rng = Rng(seed).stream("registers");
    RandomOptions options = draw_options(rng);
    if (rng.chance(1, 20)) options.operations = 60;
    KeyHistory key = rng.chance(1, 3) ? RandomHistory(options, rng).noise()
                                      : RandomHistory(options, rng).simulated();
    RandomHistory::spoil(key, options, rng);
    const Outcome expected = search(prepare(key)).outcome;
    const GeneralSearchOptions general = draw_general_options(key.ops.size(), rng);
    const History history = history_of(key);
    Outcome found = Outcome::kValid;
    for (const PartGroup& group : group_by_part(history, cas_register_model())) {
      found = judge_part(history, cas_register_model(), group, general, nullptr);
    }
    ASSERT_EQ(found, expected) << "seed " << seed;
    valid += expected == Outcome::kValid;
    ++told;
  }
  EXPECT_GT(valid * 4, told);
  EXPECT_LT(valid * 4, told * 3);
}

// One key of texts: each slot in turn invokes, takes effect, returns; a third each get, put and
// append. What is written is written once. `unknown_per_mille` have no answer, of which half happen.
History kv_run(uint64_t seed, int operations, size_t slots, int unknown_per_mille) {
  struct Slot {
    Op op;
    int steps = 0;  // taken
    bool unknown = false;
    Value seen;
  };
  Rng rng = Rng(seed).stream("kv");
  std::vector<Slot> under_way(slots);
  std::vector<int64_t> process(slots);
  for (size_t i = 0; i < slots; ++i) process[i] = static_cast<int64_t>(i);
  HistoryBuilder builder;
  std::string text;
  bool null = true;
  const Symbol calls[] = {Symbol("get"), Symbol("put"), f::append};
  for (size_t busy = 0; operations > 0 || busy > 0;) {
    const size_t i = rng.below(slots);
    Slot& slot = under_way[i];
    if (slot.steps == 0) {
      if (operations-- <= 0) continue;
      slot.op = Op{};
      slot.op.process = Process{process[i]};
      slot.op.key = Symbol("k");
      slot.op.f = calls[rng.below(3)];
      slot.unknown = rng.chance(static_cast<uint64_t>(unknown_per_mille), 1000);
      if (slot.op.f != calls[0]) slot.op.value = Value(" " + std::to_string(operations));
      EXPECT_TRUE(builder.add(slot.op));
      slot.steps = 1;
      ++busy;
    } else if (slot.steps == 1) {
      if (slot.op.f == calls[0]) {
        slot.seen = null ? Value() : Value(text);
      } else if (!slot.unknown || rng.chance(1, 2)) {
        text = (slot.op.f == calls[1] ? "" : text) + std::string(slot.op.value.as_text());
        null = false;
      }
      slot.steps = 2;
    } else {
      Op done = complete(slot.op, slot.unknown ? OpType::kInfo : OpType::kOk);
      if (slot.op.f == calls[0] && !slot.unknown) done.value = slot.seen;
      EXPECT_TRUE(builder.add(done));
      if (slot.unknown) process[i] += static_cast<int64_t>(slots);
      slot.steps = 0;
      --busy;
    }
  }
  return builder.build();
}

TEST(GeneralSearch, DecidesManyPutsAndAppendsOnOneKeyInSmallLayers) {
  for (const auto& [operations, slots, unknown] :
       {std::tuple{10'000, size_t{10}, 0}, {3'000, size_t{10}, 10}, {3'000, size_t{20}, 10}}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::to_string(operations) + " by " + std::to_string(slots));
      const History history = kv_run(seed, operations, slots, unknown);
      const assay::Model& model = *find_model("kv");
      const PartGroup group = group_by_part(history, model).at(0);
      const GeneralProblem problem = prepare(history, model, group);
      GeneralSearchOptions options;
      options.want_order = true;
      options.work_max = 20'000'000;
      const SearchResult found = general_search(problem, options);
      ASSERT_EQ(found.outcome, Outcome::kValid);
      EXPECT_LT(found.counters.layer_max, 200u);
      EXPECT_EQ(replay(history, model, group, linear_order(problem, found.placements)), "");
    }
  }
}

// Says no more of itself than that its resets overwrite.
class Texts : public ModelOf<std::string> {
 public:
  std::string_view name() const override { return "texts"; }
  std::vector<ModelCall> calls() const override {
    return {{"put", "a text", CallEffect::kResets},
            {"append", "a text"},
            {"get", "answers the text", CallEffect::kObserves}};
  }
  bool resets_overwrite() const override { return true; }
  std::string initial(const ModelPart&) const override { return ""; }
  std::optional<std::string> step(const std::string& text, const ModelOp& op) const override {
    if (op.f.text() == "put") return std::string(op.argument.as_text());
    if (op.f == f::append) return text + std::string(op.argument.as_text());
    return op.result.as_text() == text ? std::optional(text) : std::nullopt;
  }
  bool lost(const std::string& text, const ModelOp& get) const override {
    return !get.result.as_text().starts_with(text);
  }
};

TEST(GeneralSearch, ResetsThatOverwriteHideWhatIsUnderWay) {
  HistoryBuilder builder;
  auto add = [&](int process, const char* f, const char* value, bool ok) {
    Op op;
    op.process = Process{process};
    op.f = Symbol(f);
    if (value) op.value = Value(value);
    EXPECT_TRUE(builder.add(ok ? complete(op, OpType::kOk) : op));
  };
  add(0, "append", "x", false);
  add(1, "put", "r", false);
  add(1, "put", "r", true);
  add(0, "append", "x", true);
  add(2, "get", nullptr, false);
  add(2, "get", "r", true);
  const History history = builder.build();
  const Texts model;
  const PartGroup group = group_by_part(history, model).at(0);
  for (const uint32_t beam : {0u, 1u, 3u}) {
    GeneralSearchOptions options;
    options.beam = beam;
    options.want_order = true;
    EXPECT_EQ(judge_part(history, model, group, options, nullptr), Outcome::kValid) << beam;
  }
}

// One unknown addition makes ever more states where they are not counted.
class Sums : public ModelOf<int64_t> {
 public:
  std::string_view name() const override { return "sums"; }
  std::vector<ModelCall> calls() const override {
    return {{"add", "a number"}, {"read", "answers the sum", CallEffect::kObserves}};
  }
  int64_t initial(const ModelPart&) const override { return 0; }
  std::optional<int64_t> step(const int64_t& sum, const ModelOp& op) const override {
    if (op.f == f::add) return sum + op.argument.as_int();
    return op.result == Value(sum) ? std::optional(sum) : std::nullopt;
  }
};

TEST(GeneralSearch, AnOverApproximationWithoutEndLeavesTheRestToTheFullSearch) {
  HistoryBuilder builder;
  auto add = [&](int process, const char* f, Value value, OpType type) {
    Op op;
    op.process = Process{process};
    op.f = Symbol(f);
    op.value = value;
    EXPECT_TRUE(builder.add(type == OpType::kInvoke ? op : complete(op, type)));
  };
  add(0, "add", Value(1), OpType::kInvoke);
  add(0, "add", Value(1), OpType::kInfo);
  add(1, "read", Value(), OpType::kInvoke);
  add(1, "read", Value(-1), OpType::kOk);
  const History history = builder.build();
  const Sums model;
  const PartGroup group = group_by_part(history, model).at(0);
  GeneralSearchOptions options;
  options.rungs = 0;
  options.memory_bytes_max = 4 << 20;
  const SearchResult found = general_search(prepare(history, model, group), options);
  EXPECT_EQ(found.outcome, Outcome::kInvalid);
  EXPECT_EQ(found.stage, Stage::kFull);
}

}  // namespace
}  // namespace assay::linearizable
