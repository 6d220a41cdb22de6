#include "checkers/history/clock_offsets.h"

namespace assay {

std::vector<ClockOffset> clock_offsets(const History& history) {
  std::vector<ClockOffset> offsets;
  for (const Observation& observation : history.observations()) {
    if (observation.op.f != f::clock) continue;
    const Value& value = observation.op.value;
    offsets.push_back({Symbol(value.text_or("node", "")), Nanos{value.int_or("offset", 0)},
                       observation.op.time});
  }
  return offsets;
}

}  // namespace assay
