// The two processes that stand around a driver in its private world, see private_net.h. Neither
// returns: they leave by _exit, without the ends of the program that they are copies of.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace assay {

// What both listen to: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD. Blocked before the first fork,
// so that none is lost on its way.
sigset_t warden_signals();

// Waits for init, passing signals on. `line` is shared with init alone: each notices by its end
// that the other is gone, and init sends the driver's wait status through it.
[[noreturn]] void be_launcher(pid_t init, int line);

// Forks the driver, where it returns; stays as PID 1 itself, which lives as long as the driver and
// the launcher, and then until the agents have ended too, for up to four seconds. `mask` is the
// driver's signal mask.
// -1: it could not be forked, errno says why.
int be_init(int line, const sigset_t& mask);

}  // namespace assay
