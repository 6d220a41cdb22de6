// A network namespace of the agent's own, and with it of every daemon that it starts.
#pragma once

#include <string>

#include "checkers/history/error.h"

namespace assay::agent {

// Leaves the network of the caller for an empty one. Before any thread.
Result<void> leave_network();

// Brings the loopback up, renames the link (an end of a veth pair that the driver has moved here)
// and gives it its address, "10.77.0.11/24".
Result<void> configure_network(const std::string& link, const std::string& name,
                               const std::string& address);

}  // namespace assay::agent
