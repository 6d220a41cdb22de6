#include "harness/certify/certify.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "checkers/history/json_text.h"
#include "checkers/words.h"
#include "harness/certify/records.h"
#include "harness/describe.h"
#include "results/files.h"
#include "results/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

ExitCode failed(const Error& error, Console& console) {
  console.error(error.message);
  return exit_code(error);
}

ExitCode code_of(const std::string& word) {
  if (word == "valid") return kExitValid;
  if (word == "invalid") return kExitInvalid;
  if (word == "blocked") return kExitBlocked;
  return word == "unknown" ? kExitUnknown : kExitVacuous;
}

// It says nothing about the store, or is a canary that was missed: worth another try.
bool undecided(const CertificateCell& record) {
  if (!record.canary_of.empty()) return record.word != "invalid";
  const std::string& word = record.word;
  return word == "vacuous" || word == "unknown" || word == "failed" || word == "not played";
}

// What there is for a clause that compares kinds of token.
std::string kinds_text(const Clause& clause, const Suite& suite) {
  if (clause.same_verdicts.empty()) return "";
  if (suite.token_kinds.size() < 2) return " (not claimed: there is one kind)";
  size_t pairs = 0;
  for (const SuiteCell& cell : suite.cells) pairs += cell.token_kind == suite.token_kinds[1];
  return " (" + listed(suite.token_kinds) + ": " + counted(pairs, "pair", "pairs") + " of runs; and " +
         std::string(kUnsoundTokens) + " must be convicted)";
}

// The harness's failures are never hidden by what it could not decide for them.
bool any_failed(const Certificate& certificate) {
  return std::any_of(certificate.cells.begin(), certificate.cells.end(),
                     [](const CertificateCell& cell) { return cell.word == "failed"; });
}

class Certification {
 public:
  Certification(const CertifyOptions& options, Console& console)
      : options_(options), console_(console) {}

  ExitCode run(Certificate* made) {
    if (auto ready = prepare(); !ready) return failed(ready.error(), console_);
    console_.note("seed " + std::to_string(request_.seed) + ", folder " + folder_);
    const auto begin = std::chrono::steady_clock::now();
    ExitCode played = kExitValid;
    for (int round = 0; played == kExitValid; ++round) {
      auto suite = make_suite(request_, round);
      if (!suite) return failed(suite.error(), console_);
      if (auto same = find_keys(first_); !same) return failed(same.error(), console_);
      if (auto keyed = find_keys(*suite); !keyed) return failed(keyed.error(), console_);
      for (int attempt = 0; attempt < 3 && played == kExitValid; ++attempt) {
        played = play(*suite, attempt);
        if (changed_) played = kExitHarness;
      }
      if (round == 0) first_ = std::move(*suite);
      const Nanos spent{std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()};
      if (request_.profile != "nightly" || spent >= request_.time_limit) break;
    }
    return conclude(played, made);
  }

 private:
  Result<void> prepare() {
    request_ = options_.request;
    if (options_.resume.empty()) {
      auto suite = make_suite(request_, 0);  // nothing is made for what cannot be
      if (!suite) return suite.error();
      if (auto keyed = find_keys(*suite); !keyed) return keyed;
      auto made = make_new_folder(
          fs::absolute(options_.out).lexically_normal().string() + "/" +
          run_folder_name({request_.target, request_.profile, request_.contract, request_.seed}, std::time(nullptr)));
      if (!made) return made.error();
      folder_ = *made;
      if (auto locked = lock(); !locked) return locked;
      return write_request(folder_, request_);
    }
    folder_ = fs::absolute(options_.resume).lexically_normal().string();
    if (auto locked = lock(); !locked) return locked;
    auto request = read_request(folder_);
    if (!request) return request.error();
    const std::string bin_dir = request_.bin_dir;
    request_ = std::move(*request);
    request_.bin_dir = bin_dir;
    auto records = read_records(folder_);
    if (!records) return records.error();
    for (const std::string& warning : records->warnings) console_.note(warning);
    records_ = std::move(records->cells);
    return {};
  }

  Result<void> lock() {
    auto taken = FolderLock::take(folder_);
    if (!taken) return taken.error();
    lock_ = std::move(*taken);
    return {};
  }

  // What was recorded before must be of the very same suite.
  Result<void> find_keys(const Suite& suite) {
    for (const SuiteCell& cell : suite.cells) {
      auto key = key_of(cell);
      if (!key) return key.error();
      for (const CertificateCell& record : records_) {
        if (record.id != cell.cell.id || record.key == *key) continue;
        return input_error(folder_ + ": cannot be continued: since the run " + record.id +
                           " the program of " + record.target + ", its settings or Assay has changed "
                           "(expected key " + record.key.substr(0, 19) + ", found " + key->substr(0, 19) + ")");
      }
      keys_[cell.cell.id] = *key;
    }
    return {};
  }

  const CertificateCell* recorded(const std::string& id) const {
    for (const CertificateCell& record : records_)
      if (record.id == id) return &record;
    return nullptr;
  }

  // First what has no record, then what was not decided once more, with more time for its faults to
  // bite.
  ExitCode play(const Suite& suite, int attempt) {
    std::vector<Cell> cells;
    std::vector<const SuiteCell*> of;
    for (const SuiteCell& cell : suite.cells) {
      const CertificateCell* record = recorded(cell.cell.id);
      if (record && (attempt == 0 || !undecided(*record))) continue;
      cells.push_back(cell.cell);
      cells.back().spec.time_limit = cell.cell.spec.time_limit * (attempt + 1);
      of.push_back(&cell);
    }
    if (cells.empty()) return kExitValid;
    const int jobs = jobs_at_once();
    console_.note(counted(cells.size(), "run", "runs") + (attempt > 0 ? " once more and longer: they were not decided" : "") +
                  ", " + std::to_string(jobs) + " at a time");
    return play_cells(cells, folder_, jobs,
                      [&](const CellResult& result) { take(*of[result.cell], result); }, console_);
  }

  // Two runs on the same hosts would break each other's links.
  int jobs_at_once() const {
    if (!request_.hosts.empty()) return 1;
    if (options_.jobs > 0) return options_.jobs;
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  void take(const SuiteCell& cell, const CellResult& result) {
    if (result.code == kExitInterrupted || result.code == kExitBadInput) return;
    const std::string& key = keys_[cell.cell.id];
    if (auto now = key_of(cell); !now || *now != key) {
      if (!changed_)
        console_.error(cell.cell.id + ": not counted: the program of " + cell.cell.spec.target +
                       " has changed meanwhile");
      changed_ = true;
      return;
    }
    CertificateCell record = record_of(cell, key, result, folder_);
    console_.note(record.id + ": " + record.word + (record.word == "valid" ? "" : ", " + record.witness));
    if (auto appended = append_record(folder_, record); !appended) {
      console_.error(appended.error().message);
      unsaved_ = true;
    }
    std::erase_if(records_, [&](const CertificateCell& old) { return old.id == record.id; });
    records_.push_back(std::move(record));
  }

  ExitCode conclude(ExitCode played, Certificate* made) {
    if (played == kExitInterrupted)
      console_.error("interrupted: `assay certify --resume " + folder_ + "` goes on");
    if (played != kExitValid) return played;
    Certificate certificate = make_certificate(request_, first_, records_);
    certificate.assay_version = ASSAY_VERSION;
    certificate.started = utc_stamp(std::time(nullptr));
    certificate.host = describe_host();
    if (!first_.cells.empty())
      for (const SuiteCell& cell : first_.cells)
        if (cell.canary_of.empty()) {
          if (auto programs = programs_of(cell.cell.spec)) certificate.binaries = *programs;
          break;
        }
    const auto written = write_certificate(folder_, certificate);
    console_.say(certificate_text(certificate) + (written ? folder_ + "/certificate.html" : ""));
    if (console_.json()) std::fputs(pretty_json(certificate_to_value(certificate)).c_str(), stdout);
    if (made) *made = certificate;
    if (!written) return failed(written.error(), console_);
    return worse(code_of(certificate.word), unsaved_ || any_failed(certificate) ? kExitHarness : kExitValid);
  }

  const CertifyOptions& options_;
  Console& console_;
  CertifyRequest request_;
  std::string folder_;
  Suite first_;
  std::map<std::string, std::string> keys_;
  std::vector<CertificateCell> records_;
  FolderLock lock_;
  bool changed_ = false;  // a program of the suite
  bool unsaved_ = false;  // a run could not be recorded: --resume would play it again
};

}  // namespace

ExitCode certify(const CertifyOptions& options, Console& console, Certificate* made) {
  return Certification(options, console).run(made);
}

ExitCode print_suite(const CertifyRequest& request, Console& console) {
  auto suite = make_suite(request, 0);
  if (!suite) return failed(suite.error(), console);
  std::string text = "runs:\n";
  for (const SuiteCell& cell : suite->cells)
    text += "  " + cell.cell.id + (cell.canary_of.empty() ? "" : " (canary: must be convicted for " + cell.canary_of + ")") + "\n";
  text += "clauses, what each needs, and what there is:\n";
  for (const Clause& clause : all_clauses()) {
    std::vector<std::string> threats;
    for (std::string_view fault : clause.threats) {
      const auto& excluded = suite->excluded_faults;
      const bool possible = std::find(excluded.begin(), excluded.end(), fault) == excluded.end();
      threats.push_back(std::string(fault) + (possible ? "" : " (not possible here)"));
    }
    text += "  " + std::string(clause.id) + " " + std::string(clause.title) + ": " +
            "by " + judged_by(clause) + kinds_text(clause, *suite) +
            (threats.empty() ? "" : "; faults that must bite: " + listed(threats)) + "\n";
  }
  for (const std::string& line : suite->exclusions) text += "not asked for: " + line + "\n";
  for (const std::string& clause : suite->not_claimed) text += "not claimed: " + clause + "\n";
  console.say(text);
  return kExitValid;
}

ExitCode merge_certificates(const std::vector<std::string>& folders, const std::string& out,
                            Console& console) {
  std::optional<CertifyRequest> request;
  std::vector<CertificateCell> records;
  const std::string to = fs::absolute(out).lexically_normal().string();
  if (fs::exists(to)) return failed(input_error(to + ": expected a new folder, found one that is there"), console);
  Certificate versions;
  for (const std::string& folder : folders) {
    auto one = read_request(folder);
    if (!one) return failed(one.error(), console);
    one->shard = one->shards = 1;
    one->bin_dir.clear();
    if (request && request_to_value(*request).to_json() != request_to_value(*one).to_json())
      return failed(input_error(folder + ": its request is another than that of " + folders.front()), console);
    auto part = read_certificate(folder + "/certificate.json");
    if (!part) return failed(part.error(), console);
    if (request && (part->binaries != versions.binaries || part->assay_version != versions.assay_version))
      return failed(input_error(folder + ": other programs or another Assay than those of " + folders.front()), console);
    versions = *part;
    request = std::move(*one);
    for (CertificateCell& cell : part->cells) {
      if (!cell.run_folder.empty())
        cell.run_folder = fs::relative(fs::absolute(folder) / cell.run_folder, to).string();
      const auto same = std::find_if(records.begin(), records.end(),
                                     [&](const auto& record) { return record.id == cell.id; });
      if (same == records.end()) {
        records.push_back(std::move(cell));
      } else if (same->word == "not played") {
        *same = std::move(cell);
      } else if (cell.word != "not played") {
        return failed(input_error(folder + ": the run " + cell.id + " is in another of the folders too"), console);
      }
    }
  }
  if (!request) return failed(input_error("merge: expected the folders of shards"), console);
  request->bin_dir = own_folder();
  auto suite = make_suite(*request, 0);
  if (!suite) return failed(suite.error(), console);
  for (const SuiteCell& cell : suite->cells) {
    if (std::any_of(records.begin(), records.end(), [&](const auto& r) { return r.id == cell.cell.id; })) continue;
    records.push_back(blank_record(cell));
  }
  Certificate certificate = make_certificate(*request, *suite, std::move(records));
  certificate.assay_version = versions.assay_version;
  certificate.binaries = versions.binaries;
  certificate.started = versions.started;
  certificate.host = versions.host;
  if (auto made = make_folders(to); !made) return failed(made.error(), console);
  if (auto written = write_request(to, *request); !written) return failed(written.error(), console);
  for (const CertificateCell& cell : certificate.cells)
    if (auto kept = append_record(to, cell); !kept) return failed(kept.error(), console);
  if (auto written = write_certificate(to, certificate); !written) return failed(written.error(), console);
  console.say(certificate_text(certificate) + to + "/certificate.html");
  return worse(code_of(certificate.word), any_failed(certificate) ? kExitHarness : kExitValid);
}

Value request_to_value(const CertifyRequest& request) {
  Value::Object settings;
  for (const auto& [name, value] : request.settings) settings.emplace_back(Symbol(name), Value(value));
  Value::Object members{{Symbol("format"), Value("assay-certify")},
                        {Symbol("version"), Value(1)},
                        {Symbol("target"), Value(request.target)},
                        {Symbol("settings"), Value::object(std::move(settings))},
                        {Symbol("profile"), Value(request.profile)},
                        {Symbol("contract"), Value(request.contract)},
                        {Symbol("seed"), Value(static_cast<int64_t>(request.seed))},
                        {Symbol("shard"), Value(request.shard)},
                        {Symbol("shards"), Value(request.shards)},
                        {Symbol("time_limit"), Value(request.time_limit.count)}};
  if (!request.net.empty()) members.emplace_back(Symbol("net"), Value(request.net));
  if (!request.hosts.empty()) members.emplace_back(Symbol("hosts"), Value(request.hosts));
  if (request.nodes) members.emplace_back(Symbol("nodes"), Value(*request.nodes));
  return Value::object(std::move(members));
}

CertifyRequest request_from_value(const Value& value) {
  CertifyRequest request;
  request.target = value.text_or("target", "");
  request.profile = value.text_or("profile", "quick");
  request.contract = value.text_or("contract", "strong");
  request.net = value.text_or("net", "");
  request.hosts = value.text_or("hosts", "");
  request.seed = static_cast<uint64_t>(value.int_or("seed", 0));
  request.shard = static_cast<int>(value.int_or("shard", 1));
  request.shards = static_cast<int>(value.int_or("shards", 1));
  request.time_limit = Nanos{value.int_or("time_limit", 0)};
  if (value["nodes"].is_int()) request.nodes = static_cast<int>(value["nodes"].as_int());
  if (value["settings"].is_object())
    for (const auto& [option, setting] : value["settings"].as_object())
      request.settings[std::string(option.text())] = std::string(setting.as_text());
  return request;
}

}  // namespace assay
