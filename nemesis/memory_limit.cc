// A node runs short of memory: what its processes take from now on, pages of their files included,
// is limited; the kernel kills who needs more. A daemon that was killed is started at the end.
#include "nemesis/node_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr int64_t kKib = 1 << 10, kMib = 1 << 20;

Result<Settings> read_memory(const Settings& settings) {
  std::string text = settings.at("limit");
  const bool mib = text.ends_with("MiB"), kib = text.ends_with("KiB");
  std::optional<int64_t> given;
  if (mib || kib) given = whole_number(text.substr(0, text.size() - 3), 1, 1 << 20);
  const int64_t bytes = given.value_or(0) * (mib ? kMib : kKib);
  if (bytes < 64 * kKib)
    return wrong_option("memory-limit", "limit", "a size such as 4MiB, at least 64KiB", text);
  return Settings{{"limit_bytes", std::to_string(bytes)}};
}

}  // namespace

const Nemesis& memory_limit_nemesis() {
  static const NodeFaultNemesis nemesis({
      .kind = "memory-limit",
      .summary = "what the store's processes take of memory is limited; killed ones start again",
      .needs = "control groups with memory (root)",
      .deck = {"one", "minority", "leader"},
      .options = {{"limit", "512KiB", "of what they take from then on, pages of files included"}},
      .ends_daemon = true,
      .read = read_memory,
  });
  return nemesis;
}

}  // namespace assay
