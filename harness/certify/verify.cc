#include <algorithm>
#include <filesystem>

#include "checkers/clauses.h"
#include "checkers/words.h"
#include "harness/certify/certify.h"
#include "harness/certify/records.h"
#include "harness/checking.h"
#include "harness/describe.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool is_verdict(const std::string& word) { return word != "failed" && word != "not played"; }

std::string differs(const std::string& what, const std::string& expected, const std::string& found) {
  return what + ": expected " + expected + ", found " + found;
}

// What is said of the faults, where the clauses are counted by it.
std::string numbers(const std::map<std::string, int64_t>& map) {
  std::string text;
  for (const auto& [name, number] : map) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(number);
  return text.empty() ? "nothing" : text;
}

class Verification {
 public:
  Verification(const Certificate& certificate, const std::string& folder, Console& console)
      : certificate_(certificate), folder_(folder), console_(console) {}

  ExitCode run() {
    size_t same = 0, different = 0, without = 0;
    for (CertificateCell cell : certificate_.cells) {
      if (std::any_of(seen_.begin(), seen_.end(), [&](const auto& other) { return other.id == cell.id; })) {
        say(cell.id + ": it is there twice");
        continue;
      }
      const bool stored = !cell.history_hash.empty();
      const std::string what = stored || is_verdict(cell.word) ? difference(cell) : "";
      if (!what.empty()) say(cell.id + ": " + what);
      if (!stored) ++without;
      else (what.empty() ? same : different) += 1;
      seen_.push_back(std::move(cell));
    }
    auto asked = make_asked_suite();
    if (asked) look_for_missing_runs(*asked);
    else console_.note("not known here, which runs belong to it: " + asked.error().message);
    compare_clauses(asked ? asked->token_kinds : kinds_seen());
    console_.say(counted(same, "history", "histories") + " checked again with the same verdict" +
                 (different > 0 ? ", " + std::to_string(different) + " not" : "") +
                 (without > 0 ? ", " + std::to_string(without) + " without a history" : ""));
    return wrong_ ? kExitUnexpected : kExitValid;
  }

 private:
  void say(const std::string& line) {
    wrong_ = true;
    console_.say(line);
  }

  // Empty where the stored run says what the certificate says of it. In the end `cell` says what the
  // stored run says.
  std::string difference(CertificateCell& cell) const {
    if (cell.history_hash.empty()) return "a verdict without a history";
    const std::string history = folder_ + "/" + cell.run_folder + "/history.jsonl";
    auto hash = hash_file(history);
    if (!hash) return hash.error().message;
    if (*hash != cell.history_hash)
      return "the history is another one: expected " + cell.history_hash + ", found " + *hash;
    if (!is_verdict(cell.word)) return "";
    auto checked = check_file(history, {}, {});
    if (!checked) return checked.error().message;
    const HistoryHeader& header = checked->history.header();
    if (header.workload != cell.workload || header.seed != cell.seed ||
        header.raw["spec"].text_or("target", "") != asked_target(cell.target))
      return differs("the history is of another run", cell.target + " " + cell.workload + " " + std::to_string(cell.seed),
                     std::string(header.raw["spec"].text_or("target", "")) + " " + header.workload + " " +
                         std::to_string(header.seed));
    const CertificateCell said = cell;
    const Verdict& verdict = checked->verdict;
    cell.word = to_string(verdict.word());
    take_verdict(verdict, cell);
    if (cell.word != said.word) return differs("verdict", said.word, cell.word) + ": " + verdict.reason;
    if (cell.bit != said.bit) return differs("faults that bit", numbers(said.bit), numbers(cell.bit));
    if (cell.healed != said.healed) return differs("faults healed", numbers(said.healed), numbers(cell.healed));
    for (const Clause& clause : all_clauses()) {
      const std::string id(clause.id), expected = word_in(said, id), found = word_in(cell, id);
      if (expected != found) return differs(id, expected, found);
    }
    return "";
  }

  // As a plan has it: a description by its whole path.
  static std::string asked_target(const std::string& target) {
    const bool is_path = target.find('/') != std::string::npos || target.ends_with(".json");
    return is_path ? fs::absolute(target).lexically_normal().string() : target;
  }

  static std::string word_in(const CertificateCell& cell, const std::string& clause) {
    const auto said = cell.clauses.find(clause);
    return said == cell.clauses.end() ? "nothing" : said->second.word;
  }

  Result<Suite> make_asked_suite() const {
    CertifyRequest request = requested();
    if (!certificate_.shard.empty())
      std::sscanf(certificate_.shard.c_str(), "%d/%d", &request.shard, &request.shards);
    return make_suite(request, 0);
  }

  std::vector<std::string> kinds_seen() const {
    std::vector<std::string> kinds;
    for (const CertificateCell& cell : certificate_.cells)
      if (!cell.token_kind.empty() && std::find(kinds.begin(), kinds.end(), cell.token_kind) == kinds.end())
        kinds.push_back(cell.token_kind);
    return kinds;
  }

  // Of a run that is left out nothing can be wrong. (Which faults are possible depends on the place.)
  void look_for_missing_runs(const Suite& suite) {
    for (const SuiteCell& asked : suite.cells) {
      const TestSpec& spec = asked.cell.spec;
      const auto is_it = [&](const CertificateCell& cell) {
        return cell.id == asked.cell.id || (cell.target == spec.target && cell.workload == spec.workload &&
                                            cell.canary_of == asked.canary_of && cell.seed == spec.seed &&
                                            cell.token_kind == asked.token_kind);
      };
      if (std::none_of(certificate_.cells.begin(), certificate_.cells.end(), is_it))
        say(asked.cell.id + ": a run of the suite, of which it says nothing");
    }
  }

  CertifyRequest requested() const {
    CertifyRequest request;
    request.target = certificate_.target;
    request.settings = certificate_.settings;
    request.profile = certificate_.profile;
    request.contract = certificate_.contract;
    request.seed = certificate_.seed;
    return request;
  }

  // The runs decide the clauses, and these the whole. What was not asked for is taken as it says.
  void compare_clauses(std::vector<std::string> token_kinds) {
    Suite suite;
    suite.token_kinds = std::move(token_kinds);
    suite.exclusions = certificate_.exclusions;
    for (const CertificateClause& clause : certificate_.clauses) {
      const bool spoken_of = std::any_of(seen_.begin(), seen_.end(), [&](const CertificateCell& cell) {
        return cell.canary_of.empty() && cell.clauses.count(clause.id) > 0;
      });
      if (clause.word == "not claimed" && !spoken_of) suite.not_claimed.push_back(clause.id);
      for (const CertificateThreat& threat : clause.threats)
        for (const std::string& line : suite.exclusions)
          if (line.starts_with(threat.fault + ": ")) suite.excluded_faults.push_back(threat.fault);
    }
    const CertifyRequest request = requested();
    const Certificate again = make_certificate(request, suite, seen_);
    for (const CertificateClause& clause : again.clauses) {
      const auto said = std::find_if(certificate_.clauses.begin(), certificate_.clauses.end(),
                                     [&](const CertificateClause& one) { return one.id == clause.id; });
      const std::string word = said == certificate_.clauses.end() ? "nothing" : said->word;
      if (word != clause.word) say(differs("clause " + clause.id, word, clause.word));
    }
    if (again.word != certificate_.word) say(differs("the certificate", certificate_.word, again.word));
  }

  const Certificate& certificate_;
  const std::string& folder_;
  Console& console_;
  std::vector<CertificateCell> seen_;  // as the stored runs say
  bool wrong_ = false;
};

}  // namespace

ExitCode verify_certificate(const std::string& path, Console& console) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const std::string file = is_folder ? path + "/certificate.json" : path;
  const std::string folder = is_folder ? path : fs::absolute(path).parent_path().string();
  auto certificate = read_certificate(file);
  if (!certificate) {
    console.error(certificate.error().message);
    return exit_code(certificate.error());
  }
  return Verification(*certificate, folder, console).run();
}

}  // namespace assay
