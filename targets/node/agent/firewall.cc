#include "targets/node/agent/firewall.h"

#include <arpa/inet.h>
#include <ctype.h>

#include <nlohmann/json.hpp>

#include "targets/node/agent/child.h"

namespace assay::agent {
namespace {

using nlohmann::json;

// Letters, digits and _ of the label; its end, where runs differ, when it is long.
std::string table_name(const std::string& run, const std::string& node) {
  std::string name = run + "_" + node;
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.size() > 100) name.erase(0, name.size() - 100);
  return "inet assay_" + name;
}

// The elements of all sets of a listing, with their counters.
void read_elements(const json& listing, std::map<std::string, uint64_t>& out) {
  for (const json& item : listing.at("nftables")) {
    if (!item.contains("set") || !item["set"].contains("elem")) continue;
    for (const json& element : item["set"]["elem"]) {
      if (!element.is_object()) continue;
      const json& body = element.at("elem");
      out[body.at("val").get<std::string>()] = body.at("counter").at("packets").get<uint64_t>();
    }
  }
}

// Our two drops, and the chain that hangs them into the kernel's input hook.
bool has_drops(const json& listing) {
  bool hooked = false;
  int drops = 0;
  for (const json& item : listing.at("nftables")) {
    if (item.contains("chain") && item["chain"].at("name") == "input")
      hooked = item["chain"].value("hook", "") == "input";
    if (item.contains("rule") && item["rule"].at("chain") == "input" &&
        item["rule"].at("expr").back().contains("drop"))
      ++drops;
  }
  return hooked && drops == 2;
}

// The kinds of link fault that are rules, in the order of their chains; a kind's number is the
// priority of its chain above that of the cuts.
constexpr const char* kRuleKinds[] = {"loss", "rate", "reset"};

int64_t setting(const LinkFault& fault, const char* name) {
  const auto it = fault.settings.find(name);
  return it == fault.settings.end() ? 0 : it->second;
}

LinkFault sample(const char* kind) { return {kind, {{"percent", 1}, {"kbytes", 1}}}; }

// What a rule does with the packets of an address.
Result<std::string> statement(const LinkFault& fault) {
  if (fault.kind == "reset") return std::string("meta l4proto tcp counter reject with tcp reset");
  if (fault.kind == "loss") {
    const int64_t percent = setting(fault, "percent");
    if (percent == 100) return std::string("counter drop");
    if (percent > 0 && percent < 100)
      return "numgen random mod 100 < " + std::to_string(percent) + " counter drop";
    return environment_error("percent: expected 1 to 100");
  }
  const int64_t kbytes = setting(fault, "kbytes");
  if (kbytes < 1 || kbytes > 1'000'000) return environment_error("kbytes: expected 1 to 1000000");
  return "limit rate over " + std::to_string(kbytes) + " kbytes/second counter drop";
}

// Some kinds are words of nft.
std::string chain_of(const std::string& kind) { return "fault_" + kind; }

int priority_of(const std::string& kind) {
  int priority = -300;
  for (const char* known : kRuleKinds) {
    ++priority;
    if (kind == known) break;
  }
  return priority;
}

// The addresses of the rules of a chain that is hooked in, with their counters.
std::map<std::string, uint64_t> read_rules(const json& listing, const std::string& kind) {
  const char* verdict = kind == "reset" ? "reject" : "drop";
  std::map<std::string, uint64_t> seen;
  bool hooked = false;
  for (const json& item : listing.at("nftables")) {
    if (item.contains("chain")) hooked |= item["chain"].value("hook", "") == "input";
    if (!item.contains("rule")) continue;
    const json& expressions = item["rule"].at("expr");
    if (!expressions.back().contains(verdict)) continue;
    const std::string from = expressions.at(0).at("match").at("right");
    for (const json& expression : expressions) {
      if (expression.contains("counter")) seen[from] = expression["counter"].at("packets");
    }
  }
  return hooked ? seen : std::map<std::string, uint64_t>{};
}

}  // namespace

Result<std::string> normal_address(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  char out[INET6_ADDRSTRLEN];
  for (int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), bytes) == 1)
      return std::string(inet_ntop(family, bytes, out, sizeof out));
  }
  return environment_error("not an address: \"" + text + "\"");
}

Firewall::Firewall(const FirewallOptions& options)
    : options_(options), table_(table_name(options.run, options.node)) {}

Result<std::string> Firewall::nft(const std::string& commands, bool json) const {
  std::vector<std::string> argv{tool_};
  if (json) argv.push_back("-j");
  argv.push_back(commands);
  Result<ToolOutput> result = run_tool(argv);
  if (!result) return result.error();
  return std::move(result->out);
}

std::string Firewall::table_commands() const {
  return "add table " + table_ + "; " + "add set " + table_ +
         " from4 { type ipv4_addr; counter; }; " + "add set " + table_ +
         " from6 { type ipv6_addr; counter; }; " + "add chain " + table_ +
         " input { type filter hook input priority -300; policy accept; }; " + "add rule " +
         table_ + " input ip saddr @from4 drop; " + "add rule " + table_ +
         " input ip6 saddr @from6 drop; ";
}

std::string Firewall::set_of(const std::string& address) const {
  return table_ + (address.find(':') == std::string::npos ? " from4 " : " from6 ");
}

Result<void> Firewall::probe(bool* found_leftover) {
  *found_leftover = false;
  tool_ = find_tool("nft");
  if (tool_.empty()) return environment_error("nft not found (package nftables)");
  *found_leftover = nft("list table " + table_).ok();
  const std::string gone = "add table " + table_ + "; delete table " + table_ + "; ";
  const std::string cuts =
      gone + table_commands() + "add element " + table_ + " from4 { 192.0.2.1 }; ";
  std::string all = cuts;
  for (const char* kind : kRuleKinds) all += chain_commands(sample(kind), {"192.0.2.1"});
  const std::string end = "delete table " + table_;
  if (!nft(all + end)) {  // some of it is missing here
    const auto tried = nft(cuts + end);
    if (!tried) return tried.error();
    for (const char* kind : kRuleKinds) {
      if (const auto one = nft(gone + chain_commands(sample(kind), {"192.0.2.1"}) + end); !one)
        absent_[kind] = one.error().message;
    }
  }
  const auto readable = nft("list tables inet", true);  // some builds have no JSON
  if (!readable) return readable.error();
  return {};
}

Result<void> Firewall::verify() const {
  const auto text = nft("list table " + table_, true);
  if (!text) return environment_error("the rule is not there: " + text.error().message);
  try {
    const json listing = json::parse(*text);
    std::map<std::string, uint64_t> elements;
    read_elements(listing, elements);
    for (const std::string& address : cut_) {
      if (elements.erase(address) == 0)
        return environment_error("the rule for " + address + " is not there");
    }
    if (!has_drops(listing)) return environment_error("the rule is not there");
    if (!elements.empty())
      return environment_error("the rule for " + elements.begin()->first + " is still there");
  } catch (const json::exception& e) {
    return environment_error(std::string("nft -j: ") + e.what());
  }
  return {};
}

Result<void> Firewall::cut(const std::vector<std::string>& from) {
  std::set<std::string> wanted;
  for (const std::string& text : from) {
    const auto address = normal_address(text);
    if (!address) return address.error();
    wanted.insert(*address);
  }
  if (wanted.empty()) {
    const auto healed = heal();
    return healed ? Result<void>() : healed.error();
  }
  std::string commands = cut_.empty() ? table_commands() : "";
  for (const std::string& address : wanted) {
    if (!cut_.contains(address))
      commands += "add element " + set_of(address) + "{ " + address + " }; ";
  }
  for (const std::string& address : cut_) {
    if (!wanted.contains(address))
      commands += "delete element " + set_of(address) + "{ " + address + " }; ";
  }
  if (!commands.empty() && !options_.skip_rules) {
    const auto done = nft(commands);
    if (!done) return done.error();
  }
  cut_ = std::move(wanted);
  return verify();
}

Result<std::map<std::string, uint64_t>> Firewall::dropped() const {
  std::map<std::string, uint64_t> counters;
  if (cut_.empty()) return counters;
  const auto text = nft("list table " + table_, true);
  if (!text) return text.error();
  try {
    read_elements(json::parse(*text), counters);
  } catch (const json::exception& e) {
    return environment_error(std::string("nft -j: ") + e.what());
  }
  return counters;
}

Result<std::map<std::string, uint64_t>> Firewall::heal() {
  std::map<std::string, uint64_t> packets;
  if (cut_.empty()) return packets;
  for (const std::string& address : cut_) packets[address] = 0;
  if (const auto counters = dropped()) {
    for (const auto& [address, count] : *counters) packets[address] = count;
  }
  const auto done = nft(removal("cut"));
  if (!done) return done.error();
  cut_.clear();
  return packets;
}

std::string Firewall::absent(const std::string& kind) const {
  const auto it = absent_.find(kind);
  return it == absent_.end() ? "" : it->second;
}

// Of the cuts, or of a kind of fault; the table goes with the last one. What is already gone is no
// error.
std::string Firewall::removal(const std::string& kind) const {
  const bool cuts = kind == "cut";
  const std::string table = "add table " + table_ + "; ";
  const bool cuts_stay = !cuts && !cut_.empty();
  if (!cuts_stay && broken_.size() == broken_.count(kind)) return table + "delete table " + table_;
  const std::string chain = table_ + " " + (cuts ? "input" : chain_of(kind)) + "; ";
  std::string commands =
      table + "add chain " + chain + "flush chain " + chain + "delete chain " + chain;
  if (!cuts) return commands;
  for (const char* family : {"4", "6"}) {
    const std::string set = "set " + table_ + " from" + family;
    commands += "add " + set + " { type ipv" + family + "_addr; counter; }; delete " + set + "; ";
  }
  return commands;
}

// The chain is made, or emptied, and filled in one step.
std::string Firewall::chain_commands(const LinkFault& fault,
                                     const std::set<std::string>& from) const {
  const std::string chain = table_ + " " + chain_of(fault.kind);
  std::string commands = "add table " + table_ + "; add chain " + chain +
                         " { type filter hook input priority " +
                         std::to_string(priority_of(fault.kind)) + "; policy accept; }; " +
                         "flush chain " + chain + "; ";
  for (const std::string& address : from) {
    commands += "add rule " + chain + (address.find(':') == std::string::npos ? " ip" : " ip6") +
                " saddr " + address + " " + *statement(fault) + "; ";
  }
  return commands;
}

Result<std::map<std::string, uint64_t>> Firewall::rules(const std::string& kind) const {
  const auto text = nft("list chain " + table_ + " " + chain_of(kind), true);
  if (!text) return environment_error("the rule is not there: " + text.error().message);
  try {
    return read_rules(json::parse(*text), kind);
  } catch (const json::exception& e) {
    return environment_error(std::string("nft -j: ") + e.what());
  }
}

Result<void> Firewall::break_links(const LinkFault& fault, const std::vector<std::string>& from) {
  std::set<std::string> wanted;
  for (const std::string& text : from) {
    const auto address = normal_address(text);
    if (!address) return address.error();
    wanted.insert(*address);
  }
  if (wanted.empty()) {
    const auto mended = mend_links(fault.kind);
    return mended ? Result<void>() : mended.error();
  }
  if (const auto valid = statement(fault); !valid) return valid.error();
  if (!options_.skip_rules) {
    const auto done = nft(chain_commands(fault, wanted));
    if (!done) return done.error();
  }
  broken_[fault.kind] = wanted;
  const auto seen = rules(fault.kind);
  if (!seen) return seen.error();
  for (const std::string& address : wanted) {
    if (!seen->contains(address))
      return environment_error("the rule for " + address + " is not there");
  }
  if (seen->size() != wanted.size()) return environment_error("an earlier rule is still there");
  return {};
}

Result<std::map<std::string, uint64_t>> Firewall::struck(const std::string& kind) const {
  if (!broken_.contains(kind)) return std::map<std::string, uint64_t>{};
  return rules(kind);
}

Result<std::map<std::string, uint64_t>> Firewall::mend_links(const std::string& kind) {
  std::map<std::string, uint64_t> packets;
  const auto it = broken_.find(kind);
  if (it == broken_.end()) return packets;
  for (const std::string& address : it->second) packets[address] = 0;
  if (const auto counters = struck(kind)) {
    for (const auto& [address, count] : *counters) packets[address] = count;
  }
  const auto done = nft(removal(kind));
  if (!done) return done.error();
  broken_.erase(it);
  return packets;
}

}  // namespace assay::agent
