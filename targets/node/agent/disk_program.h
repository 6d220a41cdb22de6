// The disk program: a file system (FUSE) over a folder, which passes everything through, and which can
// lose what was not synced, fail calls, and be full. It runs in a child of the agent.
//
// Commands come on one descriptor, a line each; each is answered by a line on the other:
//   lose SEED        what was not synced is gone  -> ok files=… bytes=… torn=… entries=…
//   fail OP N        the N-th call of fsync, write or read from now on fails with EIO, once -> ok
//   full BYTES       so many more bytes can be written, then ENOSPC                          -> ok
//   heal fail|full   calls succeed, there is room again  -> ok failed=… refused=… (since fail, full)
//   look             -> ok failed=… refused=…
// The first line that it writes is "ok mounted", or "no WHY". At the end of its input it unmounts and
// ends; it outlives the agent by no more than that.
#pragma once

#include <string>

namespace assay::agent {

// The name of its mounts in /proc/self/mounts.
std::string disk_mount_name(const std::string& run, const std::string& node);

// Mounts itself over `folder`, which must be absolute. Returns the exit code.
int run_disk_program(const std::string& folder, const std::string& mount_name, int in, int out);

}  // namespace assay::agent
