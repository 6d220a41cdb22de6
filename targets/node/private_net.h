// The private world of a run: a network of its own for the driver and its nodes, without root.
//
//   launcher   the process that was started: passes SIGINT and SIGTERM on, waits, and exits with
//              the driver's code
//   init       PID 1 of a new PID namespace: reaps, and ends when the driver or the launcher does
//   driver     PID 2, where enter_private_world returns; agents and daemons are its descendants
//
// Whichever of these dies, by SIGKILL too, the kernel removes all processes and the network of the
// run. Inside: a bridge, the driver's address on it, and for each node a network namespace that
// its agent has made for itself, joined to the bridge by a veth pair.
//
// The exit code where the driver dies of a signal: 130 for SIGINT and SIGTERM (it was interrupted
// before it could listen), else 255 with one line; 255 with one line also when init is killed.
//
// The terminal: driver and init have process groups of their own, the launcher stays in the
// foreground group. So Ctrl-C reaches the launcher alone, which passes it to the driver's group;
// agents live in sessions of their own. A hang-up is passed on as SIGTERM. Ctrl-Z does nothing: the
// clock of a run would go on. Standard input, output and error are the driver's as they are, but
// from the terminal itself the driver cannot read.
#pragma once

#include <string>

#include "checkers/history/error.h"

namespace assay {

// Before any thread, and before anything that a second copy of the process must not have. Returns
// in the driver; or, with an error (one line with the cause and the remedy), in whichever process
// found it: print it and exit with 255. Tries a bridge, a veth pair and an nftables rule before
// it says that all is well: some systems grant the namespaces and deny the powers.
Result<void> enter_private_world(const std::string& run_id);

// Writes ASSAY_RUN=<run id> into the environment of this process, for its children and, where the
// kernel allows it, for those who read /proc/<pid>/environ. enter_private_world does it.
void mark_process(const std::string& run_id);

// The driver's address in its private world, and that of a node (from 0, at most 200).
std::string driver_address();
std::string node_address(int index);
// The same with the length of the network's prefix, as `ip addr add` takes it.
std::string node_interface_address(int index);

// Joins the network namespace of a node's agent to the bridge. The agent then finds a link of that
// name and gives it its address. Blocking, some milliseconds.
Result<void> join_node(int index, int agent_pid);
inline constexpr char kNodeLink[] = "eth0";

}  // namespace assay
