#include "harness/cells.h"

#include <filesystem>

#include "checkers/history/json_text.h"
#include "harness/campaign.h"
#include "results/files.h"
#include "results/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

CellResult result_of(size_t cell, ExitCode code, const Value& printed) {
  CellResult result{.cell = cell, .code = code, .printed = printed};
  result.reason = printed.text_or("reason", "it ended without a result: its assay.log says more");
  result.run_folder = printed.text_or("run_folder", "");
  if (result.run_folder.empty()) return result;
  result.run_folder = fs::absolute(result.run_folder).lexically_normal().string();
  if (auto folder = RunFolder::open(result.run_folder, "")) {
    if (auto verdict = folder->read_verdict()) result.verdict = std::move(*verdict);
  }
  return result;
}

}  // namespace

std::string CellResult::word() const {
  if (!verdict || code == kExitHarness || code == kExitInterrupted)
    return std::string(word_of(code));
  return std::string(to_string(verdict->word()));
}

std::string CellResult::witness() const {
  if (!verdict) return reason;
  const Verdict* worst = verdict->worst();
  const bool told = worst && worst->witness && !worst->witness->lines.empty();
  return told ? worst->witness->lines.front() : reason;
}

bool play_cells(const std::vector<Cell>& cells, const std::string& folder, int jobs,
                const std::function<void(const CellResult&)>& on_done, Console& console) {
  const std::string specs = folder + "/specs";
  if (auto made = make_folders(specs); !made) {
    console.error(made.error().message);
    return false;
  }
  Campaign campaign;
  campaign.jobs = jobs;
  for (const Cell& cell : cells) {
    const std::string path = specs + "/" + cell.id + ".json";
    if (auto written = write_file(path, pretty_json(spec_to_value(cell.spec))); !written) {
      console.error(written.error().message);
      return false;
    }
    campaign.runs.push_back({cell.id, {"run", path, "--out=" + folder + "/runs"}});
  }
  bool bad = false;
  campaign.on_result = [&](size_t cell, ExitCode code, const Value& printed) {
    bad |= code == kExitBadInput;
    on_done(result_of(cell, code, printed));
  };
  return !run_campaign(campaign, console).interrupted && !bad;
}

}  // namespace assay
