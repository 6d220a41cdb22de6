#include "harness/certify/records.h"

#include <filesystem>
#include <sstream>

#include "checkers/history/json_text.h"
#include "harness/describe.h"
#include "harness/plan.h"
#include "results/files.h"
#include "results/schema.h"

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

Result<Value> read_document(const std::string& path, std::string_view schema) {
  auto text = read_file(path);
  if (!text) return text.error();
  auto value = parse_json(*text, path);
  if (!value) return value.error();
  if (auto valid = validate_form(*value, schema, *text, path); !valid) return valid.error();
  return value;
}

// A clause of a run that was not decided as a whole may still be convicted, and is never called valid.
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

}  // namespace

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
  if (result.verdict) take_verdict(*result.verdict, record);
  return record;
}

void take_verdict(const Verdict& verdict, CertificateCell& record) {
  record.bit.clear();
  record.healed.clear();
  take_faults(verdict, record);
  record.clauses = clauses_said(verdict, record.workload);
}

std::string cells_path(const std::string& folder) { return folder + "/cells.jsonl"; }

Result<void> append_record(const std::string& folder, const CertificateCell& record) {
  return append_file_line(cells_path(folder), cell_to_value(record).to_json());
}

Result<Records> read_records(const std::string& folder) {
  Records records;
  if (!fs::exists(cells_path(folder))) return records;
  auto text = read_file(cells_path(folder));
  if (!text) return text.error();
  std::istringstream lines(*text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    auto value = parse_json(line, "");
    const auto valid = value ? validate_form(*value, "certificate-cell", line, "") : value.error();
    if (!valid) {  // ":1:column: what" of the line
      records.warnings.push_back(cells_path(folder) + ":" + std::to_string(number) +
                                 valid.error().message.substr(2) + ": its run is played again");
      continue;
    }
    CertificateCell record = cell_from_value(*value);
    std::erase_if(records.cells, [&](const CertificateCell& old) { return old.id == record.id; });
    records.cells.push_back(std::move(record));
  }
  return records;
}

Result<void> write_request(const std::string& folder, const CertifyRequest& request) {
  return write_file(folder + "/certify.json", pretty_json(request_to_value(request)));
}

Result<CertifyRequest> read_request(const std::string& folder) {
  const std::string path = folder + "/certify.json";
  auto value = read_document(path, "certify");
  if (!value) return value.error();
  CertifyRequest request = request_from_value(*value);
  if (request.shard > request.shards)
    return input_error(path + ": shard: expected at most " + std::to_string(request.shards) +
                       ", found " + std::to_string(request.shard));
  return request;
}

Result<Certificate> read_certificate(const std::string& path) {
  auto value = read_document(path, "certificate");
  if (!value) return value.error();
  return certificate_from_value(*value, path);
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
