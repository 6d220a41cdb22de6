#include "nemesis/node_fault.h"

#include <charconv>

namespace assay {

Result<void> NodeFaultNemesis::accepts(const std::map<std::string, std::string>& settings) const {
  const auto read = kind_.read(used(settings));
  return read ? Result<void>() : read.error();
}

std::unique_ptr<NemesisRun> NodeFaultNemesis::start(Cluster& cluster,
                                                    const NemesisOptions& options) const {
  NodeFault fault{.kind = std::string(kind_.kind),
                  .settings = *kind_.read(used(options.settings)),
                  .ends_daemon = kind_.ends_daemon,
                  .stops_daemon = kind_.stops_daemon,
                  .fails_daemon = kind_.fails_daemon};
  const std::string kind = fault.kind;
  return run_process_fault(
      cluster, options, deck(),
      {.kind = kind,
       .strike = [&cluster, fault = std::move(fault)](
                     int node, auto done) { cluster.begin_fault(fault, node, std::move(done)); },
       .restore = [&cluster, kind](int node,
                                   auto done) { cluster.end_fault(kind, node, std::move(done)); },
       .tells = true,
       .strikes = kind_.strikes});
}

std::map<std::string, std::string> NodeFaultNemesis::used(
    const std::map<std::string, std::string>& given) const {
  std::map<std::string, std::string> settings = given;
  for (const NemesisOption& option : kind_.options) settings.emplace(option.name, option.fallback);
  return settings;
}

Error wrong_option(std::string_view kind, std::string_view option, std::string_view expected,
                   const std::string& found) {
  return input_error(std::string(kind) + "." + std::string(option) + ": expected " +
                     std::string(expected) + ", found \"" + found + "\"");
}

std::optional<int64_t> whole_number(const std::string& text, int64_t least, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

}  // namespace assay
