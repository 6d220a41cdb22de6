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

// What a run's verdict says of each clause: those that it had something to say about. A run that was not
// decided as a whole may still convict, and calls nothing valid.
std::map<std::string, CertificateCell::Said> clauses_said(const Verdict& verdict,
                                                          const std::string& workload);

// Of a run that was not played.
CertificateCell blank_record(const SuiteCell& cell);
// What a finished run says, as it stands in the certificate; paths relative to `folder`.
CertificateCell record_of(const SuiteCell& cell, const std::string& key, const CellResult& result,
                          const std::string& folder);

std::string cells_path(const std::string& folder);
Result<void> append_record(const std::string& folder, const CertificateCell& record);
// Those that are whole, the last of each id; a line that is cut off is dropped.
Result<std::vector<CertificateCell>> read_records(const std::string& folder);

Result<void> write_request(const std::string& folder, const CertifyRequest& request);
Result<CertifyRequest> read_request(const std::string& folder);

// certificate.json, .html, junit.xml, summary.md.
Result<void> write_certificate(const std::string& folder, const Certificate& certificate);

}  // namespace assay
