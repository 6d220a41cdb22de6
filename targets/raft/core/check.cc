#include "targets/raft/core/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay::raft {
namespace {

void print_and_abort(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

CheckHandler handler = print_and_abort;

}  // namespace

void set_check_handler(CheckHandler new_handler) {
  handler = new_handler != nullptr ? new_handler : print_and_abort;
}

void check_failed(const char* file, int line, const char* expression, const std::string& detail) {
  handler(std::string(file) + ":" + std::to_string(line) + ": broken promise: " + expression +
          (detail.empty() ? "" : ": " + detail));
  std::abort();
}

}  // namespace assay::raft
