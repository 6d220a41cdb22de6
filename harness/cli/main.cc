#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "harness/cli/cli.h"
#include "harness/exit_code.h"

// What was said and did not arrive was not said.
static int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(stderr, "assay: cannot write to standard output: %s\n", std::strerror(errno));
  return assay::worse(static_cast<assay::ExitCode>(code), assay::kExitHarness);
}

int main(int argc, char** argv) {
  // Where one of the three is closed, the next file opened would take its place.
  for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  try {
    return finish(assay::command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("assay: out of memory\n", stderr);
    return assay::kExitHarness;
  }
}
