// The clock of a node jumps and drifts, then is right again: for all who trust the time of others,
// or lease something for a while by their own. Only the store's processes see it.
#include "nemesis/node_fault.h"
#include "nemesis/registry.h"

namespace assay {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr Nanos kJumpMax = seconds(10L * 365 * 86'400);

// "30s", "-30s".
Result<Settings> read_clock(const Settings& settings) {
  const std::string& jump = settings.at("jump");
  const bool back = jump.starts_with("-");
  const auto span = parse_duration(std::string_view(jump).substr(back ? 1 : 0));
  if (!span || *span > kJumpMax)
    return wrong_option("clock", "jump", "a duration such as 30s or -30s", jump);
  const auto gain = whole_number(settings.at("drift"), -500, 1'000);
  if (!gain)
    return wrong_option("clock", "drift", "a whole number from -500 to 1000", settings.at("drift"));
  if (*span < seconds(1) && *gain == 0)
    return wrong_option("clock", "jump", "at least 1s, or a drift beside it", jump);
  return Settings{{"jump_ms", (back ? "-" : "") + std::to_string(to_ms(*span))},
                  {"gain_permille", std::to_string(*gain)}};
}

class ClockNemesis : public NodeFaultNemesis {
 public:
  ClockNemesis()
      : NodeFaultNemesis({
            .kind = "clock",
            .summary = "the clock that the store sees jumps and drifts, then is right again",
            .needs = "a target with a clock hook or that heeds libfaketime",
            .deck = {"one", "minority", "majority", "leader"},
            .options = {{"jump", "30s", "so far ahead, or behind (-30s), at once"},
                        {"drift", "0", "ms gained in each second, lost where negative"}},
            .read = read_clock,
        }) {}
  std::vector<NodeFault> prepared(const Settings&, const Claims& target) const override {
    return {{.kind = "clock", .settings = {{"by", target.clock}}}};
  }
};

}  // namespace

const Nemesis& clock_nemesis() {
  static const ClockNemesis nemesis;
  return nemesis;
}

}  // namespace assay
