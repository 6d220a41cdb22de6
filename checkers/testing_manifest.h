// The shared corpus of recorded histories with known verdicts, for tests. It is not part of the
// repository: ASSAY_SHARED, else ../shared beside it; tests skip where it is absent.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "checkers/history/history_io.h"

namespace assay {

using ManifestRow = std::map<std::string, std::string>;  // cells by the name of their column

inline std::string histories_folder() {
  const char* set = std::getenv("ASSAY_SHARED");
  return (set != nullptr ? set : std::string(ASSAY_SOURCE_DIR) + "/../shared") + "/histories/";
}

inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

inline std::vector<ManifestRow> manifest_rows() {
  std::ifstream manifest(histories_folder() + "MANIFEST.tsv");
  std::vector<ManifestRow> rows;
  std::string line;
  if (!std::getline(manifest, line)) return rows;
  const std::vector<std::string> names = cells_of(line);
  while (std::getline(manifest, line)) {
    const std::vector<std::string> cells = cells_of(line);
    ManifestRow row;
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

// "x=0,y=0" is an object, "free" null; else JSON.
inline Value initial_of(const std::string& text) {
  if (text == "free") return Value();
  if (auto value = parse_value(text)) return *value;
  Value::Object members;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    const size_t at = item.find('=');
    auto value = parse_value(item.substr(at + 1));
    ASSAY_CHECK(value.ok(), "%s", text.c_str());
    members.emplace_back(Symbol(item.substr(0, at)), *value);
  }
  return Value::object(std::move(members));
}

// The manifest's columns as the options of `assay check` have them.
inline void apply_conventions(const ManifestRow& row, HistoryHeader& header) {
  header.model = row.at("model");
  header.initial = initial_of(row.at("initial"));
  if (row.at("cas_fail") != "-") header.failed_cas_observes = row.at("cas_fail") == "observed";
  if (row.at("null_read") != "-") header.null_read_is_value = row.at("null_read") == "observed";
}

// The verdict, but that we call vacuous where no operation was ok: any order explains that.
inline std::string expected_of(const ManifestRow& row, const History& history) {
  for (size_t id = 0; id < history.size(); ++id) {
    if (history[id].type() == OpType::kOk) return row.at("expected");
  }
  return row.at("expected") == "valid" ? "vacuous" : row.at("expected");
}

}  // namespace assay
