// A slow node: its processes get little of a processor, in slices. What times out here and what
// only comes late is for the store to tell.
#include "nemesis/node_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

using Settings = std::map<std::string, std::string>;

// A hundredth of a processor is 10 ms of each second, in one go.
Result<Settings> read_starve(const Settings& settings) {
  const std::string& percent = settings.at("percent");
  const auto given = whole_number(percent, 1, 100);
  if (!given) return wrong_option("starve", "percent", "a whole number from 1 to 100", percent);
  return Settings{{"quota_us", std::to_string(*given * 10'000)}};
}

}  // namespace

const Nemesis& starve_nemesis() {
  static const NodeFaultNemesis nemesis({
      .kind = "starve",
      .summary = "the store's processes get little processor time, then all again",
      .needs = "control groups with cpu (root)",
      .deck = {"one", "minority", "leader", "all"},
      .options = {{"percent", "1", "of one processor"}},
      .read = read_starve,
  });
  return nemesis;
}

}  // namespace assay
