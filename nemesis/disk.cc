// What goes wrong with disks: power loss (SIGKILL, and what was not synced is gone), calls that fail,
// no room. The nodes' data folders lie on a file system of the agent's from the first start on.
#include "nemesis/node_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

using Settings = std::map<std::string, std::string>;

class DiskNemesis : public NodeFaultNemesis {
 public:
  using NodeFaultNemesis::NodeFaultNemesis;
  std::vector<NodeFault> prepared(const Settings&, const Claims&) const override {
    return {{.kind = std::string(kind_.kind)}};
  }
};

NodeFaultKind disk_kind() { return {.needs = "FUSE (root)", .ends_daemon = true}; }
// A store stops where its disk fails, as it should: it is started again at the end.
NodeFaultKind disk_trouble() {
  NodeFaultKind kind = disk_kind();
  kind.fails_daemon = true;
  return kind;
}

NodeFaultKind power_loss() {
  NodeFaultKind kind = disk_kind();
  kind.kind = "power-loss";
  kind.summary = "SIGKILL, and writes that were not synced are gone; then restart";
  kind.deck = {"one", "minority", "majority", "leader", "all"};
  kind.options = {{"seed", "1", "what decides how much of an appended part remains"}};
  kind.read = [](const Settings& settings) -> Result<Settings> {
    if (whole_number(settings.at("seed"), 0, INT64_MAX)) return settings;
    return wrong_option("power-loss", "seed", "a whole number", settings.at("seed"));
  };
  return kind;
}

NodeFaultKind disk_error() {
  NodeFaultKind kind = disk_trouble();
  kind.kind = "disk-error";
  kind.summary = "a call on the data folder fails with EIO; then restart where the store stopped";
  kind.deck = {"one", "minority", "leader"};
  kind.options = {{"call", "fsync", "which: fsync, write or read"},
                  {"nth", "1", "the first of them from then on, the second, …"}};
  kind.read = [](const Settings& settings) -> Result<Settings> {
    const std::string& call = settings.at("call");
    if (call != "fsync" && call != "write" && call != "read")
      return wrong_option("disk-error", "call", "fsync, write or read", call);
    if (!whole_number(settings.at("nth"), 1, INT64_MAX))
      return wrong_option("disk-error", "nth", "a number from 1 on", settings.at("nth"));
    return settings;
  };
  return kind;
}

NodeFaultKind disk_full() {
  NodeFaultKind kind = disk_trouble();
  kind.kind = "disk-full";
  kind.summary = "no room is left for the data folder; then there is, and restart where the store stopped";
  kind.deck = {"one", "minority", "leader"};
  kind.options = {{"room", "0", "bytes that can still be written"}};
  kind.read = [](const Settings& settings) -> Result<Settings> {
    if (whole_number(settings.at("room"), 0, INT64_MAX)) return settings;
    return wrong_option("disk-full", "room", "bytes from 0 on", settings.at("room"));
  };
  return kind;
}

}  // namespace

const Nemesis& power_loss_nemesis() {
  static const DiskNemesis nemesis(power_loss());
  return nemesis;
}
const Nemesis& disk_error_nemesis() {
  static const DiskNemesis nemesis(disk_error());
  return nemesis;
}
const Nemesis& disk_full_nemesis() {
  static const DiskNemesis nemesis(disk_full());
  return nemesis;
}

}  // namespace assay
