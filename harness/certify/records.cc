#include "harness/certify/records.h"

#include <filesystem>
#include <sstream>

#include "checkers/history/json_text.h"
#include "harness/describe.h"
#include "harness/plan.h"
#include "results/files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string relative_to(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path relative = fs::relative(path, folder, error);
  return error || relative.empty() ? path : relative.string();
}

// "partition bit" of the non-vacuity checker's counts.
void take_faults(const Verdict& verdict, CertificateCell& record) {
  const Verdict* audit = verdict.find("non-vacuity");
  if (!audit) return;
  for (const auto& [name, number] : audit->counts) {
    if (name.ends_with(" bit")) record.bit[name.substr(0, name.size() - 4)] = number;
    if (name.ends_with(" healed")) record.healed[name.substr(0, name.size() - 7)] = number;
  }
}

}  // namespace

std::map<std::string, CertificateCell::Said> clauses_said(const Verdict& verdict,
                                                          const std::string& workload) {
  std::map<std::string, CertificateCell::Said> said;
  for (const ClauseVerdict& clause : judge_clauses(verdict, workload)) {
    if (clause.exercised.empty()) continue;
    std::string word(to_string(clause.safety));
    if (clause.blocked && clause.safety != Safety::kInvalid) word = "blocked";
    if (word == "valid" && verdict.safety == Safety::kVacuous) continue;
    std::string check = clause.check;
    if (check.empty()) check = clause.exercised.front();
    said[std::string(clause.clause->id)] = {word, check, clause.reason};
  }
  return said;
}

Result<std::vector<std::pair<std::string, std::string>>> programs_of(const TestSpec& spec) {
  auto plan = make_plan(spec);
  if (!plan) return plan.error();
  std::vector<std::pair<std::string, std::string>> programs;
  for (const std::string& path : plan->target->binaries(plan->layout)) {
    auto hash = hash_file(path);
    if (!hash) return hash.error();
    programs.emplace_back(fs::path(path).filename(), *hash);
  }
  return programs;
}

Result<std::string> key_of(const SuiteCell& cell) {
  auto programs = programs_of(cell.cell.spec);
  if (!programs) return programs.error();
  TestSpec spec = cell.cell.spec;
  spec.bin_dir.clear();  // the programs themselves are in the key
  std::string text = std::string(ASSAY_VERSION) + "\n" + spec_to_value(spec).to_json() + "\n";
  for (const auto& [name, hash] : *programs) text += name + " " + hash + "\n";
  return hash_text(text);
}

CertificateCell blank_record(const SuiteCell& cell) {
  const TestSpec& spec = cell.cell.spec;
  CertificateCell record;
  record.id = cell.cell.id;
  record.word = "not played";
  record.target = spec.target;
  record.workload = spec.workload;
  if (spec.nemesis)
    for (const FaultSpec& fault : *spec.nemesis)
      record.faults += (record.faults.empty() ? "" : ",") + fault.kind;
  if (record.faults.empty()) record.faults = "none";
  record.seed = spec.seed.value_or(0);
  record.canary_of = cell.canary_of;
  record.token_kind = cell.token_kind;
  return record;
}

CertificateCell record_of(const SuiteCell& cell, const std::string& key, const CellResult& result,
                          const std::string& folder) {
  CertificateCell record = blank_record(cell);
  record.key = key;
  record.word = result.word();
  record.reason = result.reason;
  record.witness = result.witness();
  const Value& operations = result.printed["operations"];
  record.ok = operations.int_or("ok", 0);
  record.fail = operations.int_or("fail", 0);
  record.info = operations.int_or("info", 0);
  if (result.run_folder.empty()) return record;
  record.run_folder = relative_to(result.run_folder, folder);
  record.rerun = "assay rerun " + result.run_folder;
  if (auto hash = hash_file(result.run_folder + "/history.jsonl")) record.history_hash = *hash;
  if (!result.verdict) return record;
  take_faults(*result.verdict, record);
  record.clauses = clauses_said(*result.verdict, record.workload);
  return record;
}

std::string cells_path(const std::string& folder) { return folder + "/cells.jsonl"; }

Result<void> append_record(const std::string& folder, const CertificateCell& record) {
  return append_file_line(cells_path(folder), cell_to_value(record).to_json());
}

Result<std::vector<CertificateCell>> read_records(const std::string& folder) {
  std::vector<CertificateCell> records;
  if (!fs::exists(cells_path(folder))) return records;
  auto text = read_file(cells_path(folder));
  if (!text) return text.error();
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    auto value = parse_json(line, cells_path(folder));
    if (!value || !value->is_object()) continue;
    CertificateCell record = cell_from_value(*value);
    std::erase_if(records, [&](const CertificateCell& old) { return old.id == record.id; });
    records.push_back(std::move(record));
  }
  return records;
}

Result<void> write_request(const std::string& folder, const CertifyRequest& request) {
  return write_file(folder + "/certify.json", pretty_json(request_to_value(request)));
}

Result<CertifyRequest> read_request(const std::string& folder) {
  const std::string path = folder + "/certify.json";
  auto text = read_file(path);
  if (!text) return text.error();
  auto value = parse_json(*text, path);
  if (!value) return value.error();
  return request_from_value(*value, path);
}

Result<void> write_certificate(const std::string& folder, const Certificate& certificate) {
  const std::pair<const char*, std::string> files[] = {
      {"certificate.json", pretty_json(certificate_to_value(certificate))},
      {"certificate.html", certificate_html(certificate)},
      {"junit.xml", certificate_junit(certificate)},
      {"summary.md", certificate_markdown(certificate)}};
  for (const auto& [name, text] : files)
    if (auto written = write_file(folder + "/" + name, text); !written) return written;
  return {};
}

}  // namespace assay
