#include "results/report/lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr double kBarsMax = 4000;        // of roles in one drawing
constexpr size_t kLaneFaultsMax = 1500;  // in all lanes of one drawing

enum class Role : uint8_t { kNone, kOther, kFollower, kCandidate, kDown, kLeader };

Role role_of(const StatusSample& sample) {
  if (sample.role == "leader") return Role::kLeader;
  if (sample.role == "follower") return Role::kFollower;
  if (sample.role == "down") return Role::kDown;
  if (sample.role == "candidate" || sample.role == "pre-candidate") return Role::kCandidate;
  return Role::kOther;
}

struct Stretch {  // of one role and term, in pixels
  Role role = Role::kNone;
  int64_t term = -1;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// What each pixel of the lane shows: of several roles the most notable one.
std::vector<Stretch> pixels_of(const std::vector<StatusSample>& samples, Symbol node,
                               const Axis& axis, double pixel_width, Nanos end) {
  const auto width = static_cast<size_t>(std::ceil((axis.x_to() - axis.x_from()) / pixel_width));
  std::vector<Stretch> pixels(std::max<size_t>(1, width));
  const auto pixel = [&](Nanos t) {
    const double x = (axis.x(to_seconds(t)) - axis.x_from()) / pixel_width;
    return std::min(pixels.size() - 1, static_cast<size_t>(std::max(0.0, x)));
  };
  const StatusSample* last = nullptr;
  const auto fill = [&](Nanos until) {
    if (last == nullptr || to_seconds(until) < axis.from() || to_seconds(last->time) > axis.to()) {
      return;
    }
    const Stretch stretch{role_of(*last), last->role == "down" ? -1 : last->term};
    for (size_t i = pixel(last->time); i <= pixel(until); ++i) {
      if (stretch.role >= pixels[i].role) pixels[i] = stretch;
    }
  };
  for (const StatusSample& sample : samples) {
    if (sample.node != node) continue;
    fill(sample.time);
    last = &sample;
  }
  fill(end);
  return pixels;
}

std::string stretch_title(Symbol node, const Stretch& stretch) {
  constexpr std::string_view kNames[] = {"",          "answers",         "follower",
                                         "candidate", "does not answer", "leader"};
  std::string out = shortened(node.text(), 40);
  out.append(": ").append(kNames[static_cast<size_t>(stretch.role)]);
  if (stretch.term >= 0) out += " in term " + std::to_string(stretch.term);
  return out;
}

void draw_stretch(Svg& svg, Symbol node, const Stretch& stretch, double x, double width,
                  const Box& lane) {
  const double middle = lane.y + lane.height / 2;
  const auto bar = [&](double height, std::string_view cls) {
    svg.box({x, middle - height / 2, width, height}, cls, stretch_title(node, stretch),
            height > 6 ? 2 : 0);
  };
  const double thick = std::min(16.0, lane.height - 4);
  switch (stretch.role) {
    case Role::kNone:
      return;
    case Role::kLeader: {
      bar(thick, "r-leader");
      const std::string term = "T" + std::to_string(stretch.term);
      if (stretch.term >= 0 && width > text_width(term, 10) + 6 && thick >= 12) {
        svg.text({x + 4, middle + 4}, term, "in-bar");
      }
      return;
    }
    case Role::kDown:
      bar(thick, "r-down");
      return;
    case Role::kCandidate:
      bar(std::min(8.0, thick), "r-candidate");
      return;
    case Role::kFollower:
      bar(3, "r-follower");
      return;
    case Role::kOther:
      bar(3, "r-other");
      return;
  }
}

}  // namespace

std::string_view fault_class(std::string_view kind) {
  // What makes a node stand still looks like a pause, what ends its processes like a kill.
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"partition", "partition"}, {"pause", "pause"},     {"freeze", "pause"},
      {"kill", "kill"},           {"crash-loop", "kill"}, {"delay", "delay"},
      {"starve", "starve"},       {"memory-limit", "memory"}, {"clock", "clock"}};
  for (const auto& [known, cls] : kClasses) {
    if (kind == known) return cls;
  }
  return "other";
}

std::string fault_title(const FaultInterval& fault) {
  std::string out = fault.kind;
  if (!fault.shape.empty()) out += " (" + fault.shape + ")";
  std::string victims;
  for (Symbol victim : fault.victims) {
    victims.append(victims.empty() ? " of " : ", ").append(victim.text());
  }
  out += shortened(victims, 100);
  if (!fault.completed) return out + ", asked at " + point_text(fault.asked, 3) + ", no answer";
  out += ", certain from " + point_text(fault.begin, 3);
  out += fault.end == kNever ? ", never healed" : " to " + point_text(fault.end, 3);
  if (!fault.installed) out += "; not installed";
  if (!fault.bit) out += "; did not bite";
  if (!fault.evidence.empty()) out += "; " + fault.evidence;
  return shortened(out, 240);
}

Thinning::Thinning(size_t count, size_t max, double width)
    : least_(count <= max ? 0 : width / static_cast<double>(max)) {}

bool Thinning::draws(double x) {
  if (x < next_) return false;
  next_ = x + least_;
  return true;
}

bool hits(const FaultInterval& fault, Symbol node) {
  if (std::find(fault.victims.begin(), fault.victims.end(), node) != fault.victims.end()) {
    return true;
  }
  const auto ends = [&](const auto& link) { return link.first == node || link.second == node; };
  return fault.victims.empty() && (std::any_of(fault.cut.begin(), fault.cut.end(), ends) ||
                                   std::any_of(fault.delayed.begin(), fault.delayed.end(), ends) ||
                                   std::any_of(fault.faulty.begin(), fault.faulty.end(), ends));
}

bool certain_within(const FaultInterval& fault, const Axis& axis, double& from, double& to) {
  if (!fault.completed) return false;
  from = std::max(axis.from(), to_seconds(fault.begin));
  to = fault.end == kNever ? axis.to() : std::min(axis.to(), to_seconds(fault.end));
  return from < to;
}

void draw_roles(Svg& svg, const std::vector<StatusSample>& samples, Symbol node, const Axis& axis,
                const Box& lane, Nanos end, size_t lanes) {
  // Roles that flap on every node must not fill the page.
  const double pixel_width = std::max(
      1.0, std::ceil((axis.x_to() - axis.x_from()) * static_cast<double>(lanes) / kBarsMax));
  const std::vector<Stretch> pixels = pixels_of(samples, node, axis, pixel_width, end);
  for (size_t start = 0; start < pixels.size();) {
    size_t stop = start + 1;
    while (stop < pixels.size() && pixels[stop] == pixels[start]) ++stop;
    draw_stretch(svg, node, pixels[start], axis.x_from() + pixel_width * static_cast<double>(start),
                 std::min(axis.x_to(), axis.x_from() + pixel_width * static_cast<double>(stop)) -
                     axis.x_from() - pixel_width * static_cast<double>(start),
                 lane);
    start = stop;
  }
}

void draw_node_faults(Svg& svg, const std::vector<FaultInterval>& faults, Symbol node,
                      const Axis& axis, const Box& lane, size_t lanes) {
  Thinning thinning(faults.size() * lanes, kLaneFaultsMax, lane.width * static_cast<double>(lanes));
  for (const FaultInterval& fault : faults) {
    double from = 0;
    double to = 0;
    if (!hits(fault, node) || !certain_within(fault, axis, from, to)) continue;
    const double x = axis.x(from);
    if (!thinning.draws(x)) continue;
    const Box band{x, lane.y, std::max(1.0, axis.x(to) - x), lane.height};
    const std::string kind(fault_class(fault.kind));
    svg.box(band, "tint f-" + kind);
    svg.box(band, "x-" + kind, fault_title(fault));
  }
}

void draw_fault_bands(Svg& svg, const std::vector<FaultInterval>& faults, const Axis& axis,
                      const Box& area) {
  Thinning thinning(faults.size(), kFaultsDrawnMax, area.width);
  for (const FaultInterval& fault : faults) {
    double from = 0;
    double to = 0;
    if (!certain_within(fault, axis, from, to)) continue;
    const double x = axis.x(from);
    if (!thinning.draws(x)) continue;
    svg.box({x, area.y, std::max(1.0, axis.x(to) - x), area.height},
            "tint f-" + std::string(fault_class(fault.kind)));
  }
}

void draw_time_axis(Svg& svg, const Axis& axis, const Box& area) {
  const std::vector<double> ticks = round_ticks(axis.from(), axis.to(), 12);
  const int decimals = decimals_of(ticks);
  for (double t : ticks) {
    const double x = axis.x(t);
    svg.line({x, area.y}, {x, area.y + area.height}, "grid");
    svg.text({x, area.y + area.height + 14}, fixed(t, decimals) + " s", "tick mid");
  }
}

double draw_legend(Svg& svg, const std::vector<LegendItem>& items, Point at, double width) {
  constexpr double kRow = 18;
  double x = at.x;
  double y = at.y;
  for (const LegendItem& item : items) {
    const double needed = 18 + text_width(item.name, 10.5) + 14;
    if (x + needed > at.x + width && x > at.x) {
      x = at.x;
      y += kRow;
    }
    svg.box({x, y + 3, 12, 10}, item.swatch, {}, 2);
    if (item.swatch.substr(0, 2) == "x-") {  // a hatching on its tint, as in the lanes
      svg.box({x, y + 3, 12, 10}, "tint f-" + std::string(item.swatch.substr(2)), {}, 2);
    }
    svg.text({x + 18, y + 12}, item.name, "legend");
    x += needed;
  }
  return y + kRow - at.y;
}

}  // namespace assay::report
