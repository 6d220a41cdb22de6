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
    if (item.contains("chain")) hooked |= item["chain"].value("hook", "") == "input";
    if (item.contains("rule") && item["rule"].at("expr").back().contains("drop")) ++drops;
  }
  return hooked && drops == 2;
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
  const auto tried = nft(gone + table_commands() + "add element " + table_ +
                         " from4 { 192.0.2.1 }; delete table " + table_);
  if (!tried) return tried.error();
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
  const auto done = nft("add table " + table_ + "; delete table " + table_);
  if (!done) return done.error();
  cut_.clear();
  return packets;
}

}  // namespace assay::agent
