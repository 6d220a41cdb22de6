// Certifying: plays the suite of a target, keeps a record of each run as it ends, and makes the
// certificate from the records. Everything lies in one folder:
//
//   certify.json        the request (format "assay-certify", version 1)
//   cells.jsonl         one line per run that has ended: a cell of the certificate
//   runs/ specs/        the run folders, and the specs they were played from
//   certificate.json certificate.html junit.xml summary.md
//
// A run belongs to the suite by its key: a hash of the target's programs, its settings, Assay's version
// and the spec. A folder is continued only with the same keys.
#pragma once

#include <string>
#include <vector>

#include "harness/certify/suite.h"
#include "harness/console.h"
#include "results/certificate.h"

namespace assay {

struct CertifyOptions {
  CertifyRequest request;
  std::string out = "results/certificates";
  std::string resume;  // a folder; empty: a new one
  int jobs = 0;        // 0: as many as CPUs
};

// The exit code is that of the certificate's word, 0 only for a valid one; 254 where a folder cannot be
// continued, since something has changed. The certificate, where one was made, goes to `made`.
ExitCode certify(const CertifyOptions& options, Console& console, Certificate* made = nullptr);

// What would be played, and for each clause: the evidence that it needs and what there is. Runs nothing.
ExitCode print_suite(const CertifyRequest& request, Console& console);

// Joins the folders of shards of one request into `out`: their records, and a certificate of all. The
// run folders stay where they are. Refuses folders of different requests, versions or programs, and
// those that have a run in common: it would count twice.
ExitCode merge_certificates(const std::vector<std::string>& folders, const std::string& out,
                            Console& console);

// Checks every stored history of a certificate again, and compares hashes, verdicts, and what they say of
// the clauses; runs that failed are left out. `path`: the folder, or its certificate.json. 0: all agree;
// 5: something differs.
ExitCode verify_certificate(const std::string& path, Console& console);

// From the records: what they say, clause by clause.
Certificate make_certificate(const CertifyRequest& request, const Suite& suite,
                             std::vector<CertificateCell> cells);

// The file form of a request.
Value request_to_value(const CertifyRequest& request);
CertifyRequest request_from_value(const Value& value);  // of the schema's form

// A design x clause table over several certificates, with what is expected next to what was seen;
// `wrong` counts what differs.
std::string design_table(const std::vector<Certificate>& certificates, int& wrong);

}  // namespace assay
