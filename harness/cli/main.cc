#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "harness/cli/cli.h"
#include "harness/exit_code.h"

// What was said and did not arrive was not said. It may have failed long ago: the cause is asked for
// by another write.
static int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  const bool again = ::write(STDOUT_FILENO, "\n", 1) < 0;
  std::fprintf(stderr, "assay: cannot write to standard output%s%s\n", again ? ": " : "",
               again ? std::strerror(errno) : "");
  return assay::worse(static_cast<assay::ExitCode>(code), assay::kExitHarness);
}

int main(int argc, char** argv) {
  // Where one of the three is closed, the next file opened would take its place. Nothing can be
  // written to what stands for standard output: a verdict that nobody gets is a failure.
  for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;) {
    fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd != STDOUT_FILENO) continue;
    ::close(fd);
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  // A reader that went away is an error of the write, not the end of the process. Unlike SIG_IGN, a
  // handler is not inherited by the programs that are started.
  std::signal(SIGPIPE, [](int) {});
  try {
    return finish(assay::command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("assay: out of memory\n", stderr);
    return assay::kExitHarness;
  } catch (const std::exception& error) {  // of the file system: a working directory that is gone
    std::fprintf(stderr, "assay: %s\n", error.what());
    return assay::kExitHarness;
  }
}
