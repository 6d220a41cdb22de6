// The records of a certificate's folder: cells.jsonl, its request, and the keys of its runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/certify/certify.h"

namespace assay {

// The programs under test of a target as it would be started here: name and hash.
Result<std::vector<std::pair<std::string, std::string>>> programs_of(const TestSpec& spec);

// A hash of everything that makes a run what it is.
Result<std::string> key_of(const SuiteCell& cell);

// Of a run that was not played.
CertificateCell blank_record(const SuiteCell& cell);

// What a finished run says, as it stands in the certificate; paths relative to `folder`.
CertificateCell record_of(const SuiteCell& cell, const std::string& key, const CellResult& result,
                          const std::string& folder);

// What the verdict of a run says in its record: the faults that bit and were healed, the clauses.
void take_verdict(const Verdict& verdict, CertificateCell& record);

std::string cells_path(const std::string& folder);
Result<void> append_record(const std::string& folder, const CertificateCell& record);
// The last of each id. Lines that are no record are left out, and told of: their runs are played again.
struct Records {
  std::vector<CertificateCell> cells;
  std::vector<std::string> warnings;  // "…/cells.jsonl:3:7: …"
};
Result<Records> read_records(const std::string& folder);

Result<void> write_request(const std::string& folder, const CertifyRequest& request);
Result<CertifyRequest> read_request(const std::string& folder);

// A certificate.json; its form is checked.
Result<Certificate> read_certificate(const std::string& path);

// certificate.json, .html, junit.xml, summary.md.
Result<void> write_certificate(const std::string& folder, const Certificate& certificate);

}  // namespace assay
