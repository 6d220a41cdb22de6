#include "targets/naive/server/options.h"

#include <charconv>
#include <optional>

namespace assay::naive {
namespace {

constexpr std::string_view kHelp =
    R"(assay-naive: one node of a replicated key-value store that does without agreement

Each design works until something goes wrong. They exist to be convicted: never use one for data.

usage: assay-naive --design=NAME --name=n1 --data=DIR --client=ADDR:PORT --peer=ADDR:PORT
                   --cluster=n1=ADDR:PORT,...

  --design=broadcast-copies   every node accepts, and sends each change to the others once
  --design=both-sides-accept  the same, and what was missed is merged when a link is back
  --design=timeout-failover   a primary; when it is silent, the next node takes over by itself
  --design=reachable-group    whoever can be reached decides, however few they are
  --merge=longest|newest-clock|union  of both-sides-accept (longest)
  --guards=true|false         false: whatever guards a write, it happens (true)
  --failover-ms=N             of timeout-failover: so long a primary may be silent (500)

The rest, the API, the log and the exit codes are as assay-raft's; see assay-raft --help.
)";

constexpr std::pair<std::string_view, Merge> kMerges[] = {
    {"longest", Merge::kLongest},
    {"newest-clock", Merge::kNewestClock},
    {"union", Merge::kUnion},
};

// What follows the name; nothing when the argument is another one.
std::optional<std::string_view> value_of(std::string_view argument, std::string_view name) {
  if (!argument.starts_with(name)) return std::nullopt;
  argument.remove_prefix(name.size());
  return argument;
}

const auto* find_named(const auto& list, std::string_view name, auto name_of) {
  for (const auto& item : list) {
    if (name_of(item) == name) return &item;
  }
  return static_cast<decltype(&list[0])>(nullptr);
}

std::string set_design(std::string_view text, ServerOptions& options) {
  const auto* found = find_named(kDesigns, text, [](const auto& d) { return d.name; });
  if (found == nullptr) return "a design";
  options.design = *found;
  return "";
}
std::string set_merge(std::string_view text, ServerOptions& options) {
  const auto* found = find_named(kMerges, text, [](const auto& m) { return m.first; });
  if (found == nullptr) return "longest, newest-clock or union";
  options.merge = found->second;
  return "";
}
std::string set_guards(std::string_view text, ServerOptions& options) {
  options.guards = text != "false";
  return text == "true" || text == "false" ? "" : "true or false";
}
std::string set_failover(std::string_view text, ServerOptions& options) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), options.failover_ms);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && options.failover_ms >= 1 && options.failover_ms <= 3'600'000
             ? ""
             : "milliseconds from 1 to 3600000";
}

constexpr std::pair<std::string_view, std::string (*)(std::string_view, ServerOptions&)> kFlags[] =
    {{"--design=", set_design},
     {"--merge=", set_merge},
     {"--guards=", set_guards},
     {"--failover-ms=", set_failover}};

}  // namespace

Parsed parse_options(const std::vector<std::string>& arguments) {
  ServerOptions options;
  std::vector<std::string> common;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return raft::HelpWanted{std::string(kHelp)};
    if (argument == "--version") return raft::HelpWanted{"assay-naive " ASSAY_VERSION "\n"};
    bool ours = false;
    for (const auto& [name, set] : kFlags) {
      const auto value = value_of(argument, name);
      if (!value) continue;
      ours = true;
      if (const std::string expected = set(*value, options); !expected.empty()) {
        return raft::BadOption{std::string(name.substr(0, name.size() - 1)) + ": expected " +
                               expected + ", found \"" + std::string(*value) + "\""};
      }
    }
    if (!ours) common.push_back(argument);
  }
  if (options.design.make == nullptr) return raft::BadOption{"--design is missing; see --help"};
  auto parsed = raft::parse_options(common);
  if (auto* bad = std::get_if<raft::BadOption>(&parsed)) return std::move(*bad);
  options.common = std::get<raft::ServerOptions>(std::move(parsed));
  return options;
}

}  // namespace assay::naive
