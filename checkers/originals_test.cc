// The originals that the shared corpus was made from (history.edn of Jepsen, logs of Porcupine),
// read as they are: the same operations and the same verdict as of the line of the manifest.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "checkers/checker.h"
#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"
#include "checkers/testing_manifest.h"

namespace assay {
namespace {

std::string original_of(const ManifestRow& row) {
  const std::string set = row.at("file").substr(0, row.at("file").find('/'));
  return histories_folder() + set + "/original/" + row.at("path");
}

std::vector<ManifestRow> rows_with_originals() {
  std::vector<ManifestRow> rows = manifest_rows();
  std::erase_if(rows, [](const ManifestRow& row) {
    return !std::filesystem::is_regular_file(original_of(row));
  });
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

TEST(Originals, GiveTheOperationsAndTheVerdictOfTheirConversions) {
  const auto rows = rows_with_originals();
  if (rows.empty()) GTEST_SKIP() << "the corpus is not part of the repository, and no originals are under " << histories_folder();
  size_t verdicts = 0;
  for (const ManifestRow& row : rows) {
    SCOPED_TRACE(original_of(row));
    auto original = read_history(original_of(row));
    ASSERT_TRUE(original) << original.error().message;
    auto converted = read_history(histories_folder() + row.at("file"));
    ASSERT_TRUE(converted) << converted.error().message;
    EXPECT_EQ(text_of(*original), text_of(*converted));
    if (row.at("set") == "elle") continue;  // transactions
    apply_conventions(row, original->mutable_header());
    const auto verdict = check_history(*original, {"linearizable"}, Budget{});
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(to_string(verdict->word()), expected_of(row, *original)) << verdict->reason;
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
  if (rows.empty()) GTEST_SKIP() << "the corpus is not part of the repository, and no originals are under " << histories_folder();
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
