// Certificate: what a suite of runs says of a store, clause by clause of the two contracts: plain
// data, its file form (certificate.json, format "assay-certificate", version 1), and its pages.
//
// A clause is valid only where a check had something to judge, found nothing, and every threat that
// the clause names has bitten at least once, or the exclusion is stated first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/value.h"

namespace assay {

// One run of the suite.
struct CertificateCell {
  std::string id;
  std::string key;     // hash of the target's programs, settings, Assay's version and the spec
  std::string target;  // of a canary another one than the certificate's
  std::string workload;
  std::string faults;
  uint64_t seed = 0;
  std::string canary_of;  // the clause that it must be convicted for; empty: a run of the target
  std::string token_kind;  // where the target has several; empty: it has one
  std::string word;       // "valid", …, "failed", "not played"
  std::string reason;
  std::string witness;
  std::string run_folder;    // relative to the certificate's folder
  std::string history_hash;  // sha256 of history.jsonl
  std::string rerun;         // the command
  int64_t ok = 0, fail = 0, info = 0;
  std::map<std::string, int64_t> bit;     // fault -> how often it was observed to bite
  std::map<std::string, int64_t> healed;  // … and was healed
  // clause -> what this run says of it, for those that it had something to say about.
  struct Said {
    std::string word;
    std::string check;   // that decides
    std::string reason;  // its witness, where the word is not valid
  };
  std::map<std::string, Said> clauses;
};

struct CertificateThreat {
  std::string fault;
  int64_t bit = 0;
  std::string excluded;  // why it is not asked for; empty: it is
};

struct CertificateClause {
  std::string id, title, passage;
  std::string word;      // valid, invalid, blocked, unknown, vacuous, "not claimed"
  std::string expected;  // of a design whose verdicts are known beforehand; empty: none is
  std::string check;     // that decides
  std::string reason;    // its witness, or what is missing
  std::string cell;      // where it was seen
  int64_t cells = 0;     // that had something to say
  int64_t operations = 0;
  int64_t faults_bit = 0;
  int64_t recoveries = 0;
  std::vector<std::string> checks;
  std::vector<CertificateThreat> threats;
  std::vector<std::string> not_exercised;
};

struct Certificate {
  std::string target;
  std::map<std::string, std::string> settings;
  std::string profile;   // quick, release, nightly
  std::string contract;  // strong, weak
  std::string assay_version;
  std::string started;
  std::string host;
  std::vector<std::pair<std::string, std::string>> binaries;  // name, hash
  uint64_t seed = 0;
  std::string shard;  // "2/4"; empty: the whole
  std::string word;   // of the whole
  std::string sentence;
  std::vector<std::string> exclusions;     // said first
  std::vector<std::string> not_exercised;  // by any run
  std::string honest;                      // what the number of runs can say
  std::vector<CertificateClause> clauses;
  std::vector<CertificateCell> cells;

  size_t runs() const;  // cells of the target itself that were decided
};

Value certificate_to_value(const Certificate& certificate);
Value cell_to_value(const CertificateCell& cell);
CertificateCell cell_from_value(const Value& value);
// `name` stands for the file in the error.
Result<Certificate> certificate_from_value(const Value& value, const std::string& name);

std::string certificate_html(const Certificate& certificate);
std::string certificate_junit(const Certificate& certificate);
std::string certificate_markdown(const Certificate& certificate);
// A table for a terminal.
std::string certificate_text(const Certificate& certificate);

}  // namespace assay
