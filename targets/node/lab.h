// A lab: machines to be reached over SSH that are none, for trying runs on hosts on this one. Each
// node is a network namespace with an address and an sshd of its own. For root.
//
//   host         al-NAME, the driver's address 10.x.y.1/24            the lab's only link here
//   assay.NAME   a namespace with a bridge that joins all of them     the host's firewall sees what
//                                                                     is to or from the driver, not
//                                                                     what nodes say to each other
//   assay.NAME.n1, .n2, …   the nodes: eth0, 10.x.y.11, .12, …, sshd on port 22
//   /var/lib/assay-lab/NAME   keys, known_hosts, hosts.json, and a folder for each node
//
// All nodes share the file system and the process table of this machine.
//
// Calls block, and exclude each other, in other processes too. They need no state but the name: what
// a crash has left at any point is found by names, by what runs in the namespaces, and by the
// command lines of the servers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkers/history/error.h"

namespace assay {

inline constexpr int kLabNodesMax = 64;

struct LabOptions {
  std::string name = "lab";  // letters of lower case, digits, "-": at most 12
  int nodes = 5;
  std::function<bool()> interrupted = [] { return false; };  // asked between steps
};

struct LabNode {
  std::string name;        // "n1"
  std::string address;     // "10.207.0.11"
  std::string net_namespace;  // "assay.lab.n1"
  std::string folder;
};

struct Lab {
  std::string name;
  std::string folder;
  std::string network;  // "10.207.0": the first three bytes of its /24
  std::vector<LabNode> nodes;

  std::string driver_address() const { return network + ".1"; }
  std::string hosts_file() const { return folder + "/hosts.json"; }
};

// What a lab needs here: root, and some tools.
Result<void> lab_means();

// A name that is no lab's name is an input error; anything else an error of the environment, after
// which, as after an interruption, nothing is left.
Result<Lab> lab_up(const LabOptions& options);

// A lab that is up, or was until something of it was lost.
Result<Lab> find_lab(const std::string& name);
std::vector<std::string> lab_names();

// Removes whatever there is of it: says what, in words; empty: nothing.
Result<std::string> lab_down(const std::string& name);

struct LabNodeStatus {
  int sshd = 0;            // its pid; 0: none
  std::string why_not;     // what an SSH client says that does not come in; empty: it came in
  int processes = 0;
  bool up() const { return sshd > 0 && why_not.empty(); }
};
std::vector<LabNodeStatus> lab_status(const Lab& lab);

// As a machine that loses power and comes back: its processes are killed, its mounts and its
// network are gone; then it is there again, with the same address, keys and folder.
Result<void> reboot_lab_node(const Lab& lab, size_t node);

// The SSH client's command line for a command on a node.
std::vector<std::string> lab_ssh(const Lab& lab, size_t node, std::vector<std::string> command);

}  // namespace assay
