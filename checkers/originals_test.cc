// The originals that the shared corpus was made from (history.edn of Jepsen, logs of Porcupine),
// read as they are: the same operations and the same verdict as of the line of the manifest. The
// corpus is not part of the repository: ASSAY_SHARED, else ../shared beside it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"
#include "checkers/linearizable/linearizable.h"

namespace assay {
namespace {

using ManifestRow = std::map<std::string, std::string>;

std::string histories_folder() {
  const char* set = std::getenv("ASSAY_SHARED");
  return (set != nullptr ? set : std::string(ASSAY_SOURCE_DIR) + "/../shared") + "/histories/";
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

std::string original_of(const ManifestRow& row) {
  const std::string set = row.at("file").substr(0, row.at("file").find('/'));
  return histories_folder() + set + "/original/" + row.at("path");
}

std::vector<ManifestRow> rows_with_originals() {
  std::ifstream manifest(histories_folder() + "MANIFEST.tsv");
  std::vector<ManifestRow> rows;
  std::string line;
  if (!std::getline(manifest, line)) return rows;
  const std::vector<std::string> names = cells_of(line);
  while (std::getline(manifest, line)) {
    const std::vector<std::string> cells = cells_of(line);
    ManifestRow row;
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) row[names[i]] = cells[i];
    if (std::filesystem::is_regular_file(original_of(row))) rows.push_back(row);
  }
  return rows;
}

std::string text_of(const History& history) {
  std::string text;
  for (size_t i = 0; i < history.size(); ++i) {
    const Operation op = history[i];
    text += std::to_string(op.process().id) + " " + std::string(op.f().text()) + " " +
            std::string(op.key().text()) + " " + std::string(to_string(op.type())) + " " +
            op.argument().to_json() + " " + op.result().to_json() + " " +
            std::to_string(op.invoke_position()) + " " + std::to_string(op.return_position()) +
            "\n";
  }
  for (const NemesisOp& op : history.nemesis())
    text += std::string(op.invocation.f.text()) + " " + std::to_string(op.invoke_position) + " " +
            std::to_string(op.return_position) + "\n";
  return text;
}

void take_conventions(const ManifestRow& row, HistoryHeader& header) {
  header.model = row.at("model");
  header.initial = *parse_value(row.at("initial"));
  if (row.at("cas_fail") != "-") header.failed_cas_observes = row.at("cas_fail") == "observed";
  if (row.at("null_read") != "-") header.null_read_is_value = row.at("null_read") == "observed";
}

TEST(Originals, GiveTheOperationsAndTheVerdictOfTheirConversions) {
  const auto rows = rows_with_originals();
  if (rows.empty()) GTEST_SKIP() << "no originals under " << histories_folder();
  size_t verdicts = 0;
  for (const ManifestRow& row : rows) {
    SCOPED_TRACE(original_of(row));
    auto original = read_history(original_of(row));
    ASSERT_TRUE(original) << original.error().message;
    auto converted = read_history(histories_folder() + row.at("file"));
    ASSERT_TRUE(converted) << converted.error().message;
    EXPECT_EQ(text_of(*original), text_of(*converted));
    if (row.at("set") == "elle") continue;  // transactions
    take_conventions(row, original->mutable_header());
    const auto verdict = check_history(*original, {"linearizable"}, Budget{});
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(to_string(verdict->word()), row.at("expected")) << verdict->reason;
    ++verdicts;
  }
  std::cout << rows.size() << " originals, " << verdicts << " verdicts\n";
}

class StringSink : public ByteSink {
 public:
  explicit StringSink(std::string& text) : text_(text) {}
  Result<void> write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Result<void> close() override { return {}; }

 private:
  std::string& text_;
};

std::string written(const History& history, HistoryFormat format) {
  std::string text;
  StringSink sink(text);
  EXPECT_TRUE(write_history(history, sink, format));
  return text;
}

TEST(Originals, GoThroughEitherFormatUnchanged) {
  const auto rows = rows_with_originals();
  if (rows.empty()) GTEST_SKIP() << "no originals under " << histories_folder();
  for (const ManifestRow& row : rows) {
    SCOPED_TRACE(original_of(row));
    auto original = read_history(original_of(row));
    ASSERT_TRUE(original) << original.error().message;
    const std::string lines = written(*original, HistoryFormat::kJsonl);
    const std::string edn = written(*original, HistoryFormat::kEdn);
    auto from_edn = parse_history(edn);
    ASSERT_TRUE(from_edn) << from_edn.error().message;
    EXPECT_TRUE(written(*from_edn, HistoryFormat::kJsonl) == lines);
    auto from_lines = parse_history(lines);
    ASSERT_TRUE(from_lines) << from_lines.error().message;
    EXPECT_TRUE(written(*from_lines, HistoryFormat::kEdn) == edn);
  }
}

}  // namespace
}  // namespace assay
