// Every history of the shared corpus that is of one of the models, against its expected verdict.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "checkers/check_model.h"
#include "checkers/history/history_io.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/models/registry.h"
#include "checkers/testing_manifest.h"

namespace assay::linearizable {
namespace {

using Row = ManifestRow;

std::vector<Row> rows_of(const std::set<std::string>& models) {
  std::vector<Row> rows = manifest_rows();
  std::erase_if(rows, [&](const Row& row) {
    return !models.contains(row.at("model")) || row.at("set") == "elle";
  });
  return rows;
}

TEST(Manifest, EveryRegisterHistoryGetsItsVerdict) {
  const std::vector<Row> rows = rows_of({"register", "cas-register"});
  if (rows.empty()) GTEST_SKIP() << "the corpus is not part of the repository, and no MANIFEST.tsv is under " << histories_folder();
  LinearizableOptions options;
  options.prove = true;
  size_t agreed = 0, witnesses = 0, small = 0;
  double check_s = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at("file"));
    auto history = read_history(histories_folder() + row.at("file"));
    ASSERT_TRUE(history) << history.error().message;
    apply_conventions(row, history->mutable_header());
    ASSERT_TRUE(can_judge(*history));
    ASSERT_TRUE(model_of(*history));
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = check_linearizable(*history, Budget{}, options);
    check_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_EQ(to_string(verdict.word()), expected_of(row, *history)) << verdict.reason;
    agreed += to_string(verdict.word()) == expected_of(row, *history);
    if (verdict.safety != Safety::kInvalid) continue;
    ASSERT_FALSE(verdict.children.empty());
    ASSERT_TRUE(verdict.children[0].witness);
    const Witness& witness = *verdict.children[0].witness;
    EXPECT_FALSE(witness.operations.empty());
    EXPECT_FALSE(witness.lines.empty());
    ++witnesses;
    small += witness.operations.size() <= 6;
    if (std::getenv("ASSAY_SHOW") == nullptr) continue;
    std::cout << row.at("file") << ": " << verdict.reason << "\n";
    for (const std::string& text : witness.lines) std::cout << "    " << text << "\n";
  }
  std::cout << agreed << " of " << rows.size() << " verdicts agree, in " << check_s << " s; "
            << small << " of " << witnesses << " witnesses have at most 6 operations\n";
  EXPECT_GE(small * 10, witnesses * 9);
}

// As `assay check --model NAME` does it, registers included.
void judge_by_models(bool registers_too) {
  std::set<std::string> names;
  for (const assay::Model* model : all_models()) {
    if (registers_too || !model->name().ends_with("register") ||
        model->name() == "multi-register") {
      names.emplace(model->name());
    }
  }
  const std::vector<Row> rows = rows_of(names);
  if (rows.empty()) GTEST_SKIP() << "the corpus is not part of the repository, and no MANIFEST.tsv is under " << histories_folder();
  std::map<std::string, size_t> agreed;
  double check_s = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at("file"));
    auto history = read_history(histories_folder() + row.at("file"));
    ASSERT_TRUE(history) << history.error().message;
    apply_conventions(row, history->mutable_header());
    const assay::Model& model = *find_model(row.at("model"));
    ASSERT_TRUE(assay::can_judge(*history, model));
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = check_model(*history, model, Budget{});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    check_s += took.count();
    EXPECT_EQ(to_string(verdict.word()), expected_of(row, *history)) << verdict.reason;
    agreed[row.at("model")] += to_string(verdict.word()) == expected_of(row, *history);
    if (std::getenv("ASSAY_SHOW") != nullptr) {
      std::cout << row.at("file") << ": " << verdict.reason << " (" << took.count() << " s)\n";
    }
    if (verdict.safety == Safety::kInvalid) {
      ASSERT_TRUE(verdict.children[0].witness);
      const Witness& witness = *verdict.children[0].witness;
      EXPECT_FALSE(witness.operations.empty());
      EXPECT_TRUE(registers_too || witness.operations.size() <= 6);
      if (std::getenv("ASSAY_SHOW") == nullptr) continue;
      for (const std::string& text : witness.lines) std::cout << "    " << text << "\n";
    }
  }
  size_t all = 0;
  for (const auto& [model, count] : agreed) {
    std::cout << model << " " << count << ", ";
    all += count;
  }
  std::cout << all << " of " << rows.size() << " verdicts agree, in " << check_s << " s\n";
}
TEST(Manifest, EveryHistoryOfAnotherModelGetsItsVerdict) { judge_by_models(false); }
TEST(Manifest, TheSearchForEveryModelAgreesOnRegistersToo) { judge_by_models(true); }

}  // namespace
}  // namespace assay::linearizable
