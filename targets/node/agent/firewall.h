// Firewall: the links that are cut or faulty at this node, as an nftables table of its own.
//
//   table inet assay_<run>_<node>
//     set from4, from6   source addresses that are dropped, each with a counter
//     chain input        before everything else that the host filters: one drop per set
//
//     chain fault_KIND   after it: link faults (link_fault.h), one rule per source address
//
// A cut is one-way: packets FROM an address are dropped, packets to it leave as before. The table
// is there only while something is in force; the host's own tables are never touched. Blocking: a
// change takes some 20 ms, a look 3 ms.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkers/history/error.h"
#include "targets/link_fault.h"

namespace assay::agent {

struct FirewallOptions {
  std::string run, node;    // the label
  bool skip_rules = false;  // self-test: install nothing, and say nothing
};

class Firewall {
 public:
  explicit Firewall(const FirewallOptions& options);

  // Tries a whole table once, and thereby removes what an earlier agent with the same label had
  // left (`found_leftover`). An error says why links cannot be cut here.
  Result<void> probe(bool* found_leftover);
  // Why it cannot make a kind of link fault here, after the probe; empty where it can.
  std::string absent(const std::string& kind) const;

  // From now on drops what comes from exactly these numeric addresses of either family, without
  // a moment in between. Returns after the rules were seen in place.
  Result<void> cut(const std::vector<std::string>& from);

  // The packets dropped since the cut, per address. The table is gone afterwards.
  Result<std::map<std::string, uint64_t>> heal();

  Result<std::map<std::string, uint64_t>> dropped() const;  // what is cut, with its counter
  const std::set<std::string>& addresses() const { return cut_; }

  // The same of a link fault of each kind: what comes from exactly these addresses suffers it; its
  // counters begin at 0.
  Result<void> break_links(const LinkFault& fault, const std::vector<std::string>& from);
  Result<std::map<std::string, uint64_t>> mend_links(const std::string& kind);
  Result<std::map<std::string, uint64_t>> struck(const std::string& kind) const;

 private:
  Result<std::string> nft(const std::string& commands, bool json = false) const;
  std::string table_commands() const;
  std::string set_of(const std::string& address) const;
  Result<void> verify() const;
  std::string chain_commands(const LinkFault& fault, const std::set<std::string>& from) const;
  Result<std::map<std::string, uint64_t>> rules(const std::string& kind) const;
  std::string removal(const std::string& kind) const;

  FirewallOptions options_;
  std::string tool_, table_;
  std::set<std::string> cut_;
  std::map<std::string, std::set<std::string>> broken_;  // by kind
  std::map<std::string, std::string> absent_;            // kind -> why
};

// "10.0.0.1" and "fe80::1" as the kernel writes them; an error for anything that is no address.
Result<std::string> normal_address(const std::string& text);

}  // namespace assay::agent
