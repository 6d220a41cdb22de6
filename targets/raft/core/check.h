// RAFT_CHECK: a promise of the protocol. Stays on in release; a broken one must end the process,
// because a member that goes on from an impossible state can lose what others acknowledged.
#pragma once

#include <string>

namespace assay::raft {

// Called with one line when a promise is broken. It must not return: the default prints the line
// to standard error and aborts. A simulator installs one that throws. Not thread-safe: set it
// before any core exists.
using CheckHandler = void (*)(const std::string& message);
void set_check_handler(CheckHandler handler);

[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const std::string& detail);

}  // namespace assay::raft

// RAFT_CHECK(condition, detail): detail is an expression that makes a std::string; it is evaluated
// only when the condition is false.
#define RAFT_CHECK(condition, detail)                                      \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::assay::raft::check_failed(__FILE__, __LINE__, #condition, detail); \
    }                                                                      \
  } while (false)
