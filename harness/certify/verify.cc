#include <filesystem>

#include "checkers/history/json_text.h"
#include "checkers/words.h"
#include "harness/certify/records.h"
#include "harness/checking.h"
#include "harness/describe.h"
#include "results/files.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Empty where the stored run says what the certificate says of it.
std::string difference(const CertificateCell& cell, const std::string& folder) {
  const std::string history = folder + "/" + cell.run_folder + "/history.jsonl";
  auto hash = hash_file(history);
  if (!hash) return hash.error().message;
  if (*hash != cell.history_hash)
    return "the history is another one: expected " + cell.history_hash + ", found " + *hash;
  auto checked = check_file(history, {}, {});
  if (!checked) return checked.error().message;
  const std::string word(to_string(checked->verdict.word()));
  if (word != cell.word) return "expected " + cell.word + ", found " + word + ": " + checked->verdict.reason;
  const auto found = clauses_said(checked->verdict, cell.workload);
  for (const Clause& clause : all_clauses()) {
    const auto of = [&](const auto& said) {
      const auto at = said.find(std::string(clause.id));
      return at == said.end() ? std::string("nothing") : at->second.word;
    };
    if (of(found) != of(cell.clauses))
      return std::string(clause.id) + ": expected " + of(cell.clauses) + ", found " + of(found);
  }
  return "";
}

// A run that failed says nothing, whatever its history does.
bool has_verdict(const CertificateCell& cell) {
  return !cell.history_hash.empty() &&
         (cell.word == "valid" || cell.word == "invalid" || cell.word == "blocked" ||
          cell.word == "unknown" || cell.word == "vacuous");
}

}  // namespace

ExitCode verify_certificate(const std::string& path, Console& console) {
  const bool is_folder = fs::is_directory(path);
  const std::string file = is_folder ? path + "/certificate.json" : path;
  const std::string folder = is_folder ? path : fs::path(fs::absolute(path)).parent_path().string();
  const auto fail = [&](const Error& error) {
    console.error(error.message);
    return exit_code(error);
  };
  auto text = read_file(file);
  if (!text) return fail(text.error());
  auto value = parse_json(*text, file);
  if (!value) return fail(value.error());
  auto certificate = certificate_from_value(*value, file);
  if (!certificate) return fail(certificate.error());
  size_t same = 0, different = 0, without = 0;
  for (const CertificateCell& cell : certificate->cells) {
    if (!has_verdict(cell)) {
      ++without;
      continue;
    }
    const std::string what = difference(cell, folder);
    (what.empty() ? same : different) += 1;
    if (!what.empty()) console.say(cell.id + ": " + what);
  }
  console.say(counted(same, "history", "histories") + " checked again with the same verdict" +
              (different > 0 ? ", " + std::to_string(different) + " not" : "") +
              (without > 0 ? ", " + std::to_string(without) + " without a verdict" : ""));
  return different > 0 ? kExitUnexpected : kExitValid;
}

}  // namespace assay
