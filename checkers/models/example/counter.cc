// A model of one's own, against the installed package: a counter. Judges a history in JSON Lines:
//
//   cmake -G Ninja -B build -DCMAKE_PREFIX_PATH=/where/assay/is/installed && cmake --build build
//   build/counter history.jsonl
#include <cstdio>

#include "checkers/check_model.h"
#include "checkers/history/history_io.h"

namespace {

using namespace assay;

struct Counter : ModelOf<int64_t> {
  std::string_view name() const override { return "counter"; }
  std::vector<ModelCall> calls() const override {
    return {{"add", "a number"}, {"read", "answers the sum", CallEffect::kObserves}};
  }
  std::string wrong(const Operation& op) const override {
    return op.f() == f::read || op.argument().is_int() ? "" : "needs a number";
  }
  int64_t initial(const ModelPart& part) const override {
    return part.initial.is_int() ? part.initial.as_int() : 0;
  }
  std::optional<int64_t> step(const int64_t& sum, const ModelOp& op) const override {
    if (op.f == f::add) return sum + op.argument.as_int();
    return op.result == Value(sum) ? std::optional(sum) : std::nullopt;
  }
  std::string describe(const int64_t& sum) const override { return std::to_string(sum); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: counter HISTORY.jsonl\n"), 254;
  auto history = read_history(argv[1]);
  const Counter counter;
  const auto fits = history ? can_judge(*history, counter) : Result<void>(history.error());
  if (!fits) return std::fprintf(stderr, "counter: %s\n", fits.error().message.c_str()), 254;
  const Verdict verdict = check_model(*history, counter, Budget{});
  std::printf("%s: %s\n", std::string(to_string(verdict.word())).c_str(), verdict.reason.c_str());
  for (const Verdict& part : verdict.children) {
    if (!part.witness) continue;
    for (const std::string& line : part.witness->lines) std::printf("  %s\n", line.c_str());
  }
  return verdict.word() == Word::kValid ? 0 : verdict.word() == Word::kInvalid ? 1 : 2;
}
