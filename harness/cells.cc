#include "harness/cells.h"

#include <filesystem>

#include "checkers/history/json_text.h"
#include "harness/campaign.h"
#include "results/files.h"
#include "results/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

CellResult result_of(const Campaign::Ended& ended) {
  CellResult result{.cell = ended.run, .code = ended.code, .printed = ended.result, .took = ended.took};
  result.reason = ended.result.text_or(
      "reason", ended.complaint.empty() ? "it ended without a result" : ended.complaint);
  result.run_folder = ended.result.text_or("run_folder", "");
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

ExitCode play_cells(const std::vector<Cell>& cells, const std::string& folder, int jobs,
                const std::function<void(const CellResult&)>& on_done, Console& console) {
  const std::string specs = folder + "/specs";
  if (auto made = make_folders(specs); !made) {
    console.error(made.error().message);
    return kExitHarness;
  }
  Campaign campaign;
  campaign.jobs = jobs;
  for (const Cell& cell : cells) {
    const std::string path = specs + "/" + cell.id + ".json";
    if (auto written = write_file(path, pretty_json(spec_to_value(cell.spec))); !written) {
      console.error(written.error().message);
      return kExitHarness;
    }
    campaign.runs.push_back({cell.id, {"run", path, "--out=" + folder + "/runs"}});
  }
  bool bad = false;
  campaign.on_result = [&](const Campaign::Ended& ended) {
    const CellResult result = result_of(ended);
    // Its spec was planned before: what it needs has gone meanwhile.
    if (ended.code == kExitBadInput && !bad) console.error(cells[ended.run].id + ": " + result.reason);
    bad |= ended.code == kExitBadInput;
    on_done(result);
  };
  const CampaignResult result = run_campaign(campaign, console);
  if (result.interrupted) return kExitInterrupted;
  return bad || static_cast<size_t>(result.finished) < cells.size() ? kExitHarness : kExitValid;
}

}  // namespace assay
