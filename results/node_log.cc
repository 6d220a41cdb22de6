#include "results/node_log.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <tuple>

namespace assay {
namespace {

constexpr size_t kStampMin = 3;        // "0.0"
constexpr size_t kLineMax = 4096;      // longer lines are cut: a report shows less anyway
constexpr size_t kKeptPerWanted = 16;  // what is held at a time, in units of max

// The stamp of a line, and the length of it with the space behind it.
std::optional<std::pair<Nanos, size_t>> stamp_of(std::string_view line) {
  const size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos || line.size() - start < kStampMin) return std::nullopt;
  const char* const end = line.data() + line.size();
  int64_t whole = 0;
  const auto [point, error] = std::from_chars(line.data() + start, end, whole);
  if (error != std::errc() || point == end || *point != '.' || whole < 0) return std::nullopt;
  int64_t fraction = 0;
  const auto [space, error2] = std::from_chars(point + 1, end, fraction);
  const auto digits = static_cast<int>(space - (point + 1));
  if (error2 != std::errc() || digits != 6 || (space != end && *space != ' ')) return std::nullopt;
  const size_t used = static_cast<size_t>(space - line.data()) + (space == end ? 0 : 1);
  return std::pair{seconds(whole) + microseconds(fraction), used};
}

// Drops lines from the ends until `max` are left: those nearest to the middle of the time.
void keep_nearest(NodeLog& log, Nanos middle, size_t max) {
  auto& lines = log.lines;
  size_t first = 0;
  size_t last = lines.size();
  while (last - first > max) {
    const Nanos before = middle - lines[first].time;
    const Nanos after = lines[last - 1].time - middle;
    before >= after ? ++first : --last;
  }
  log.left_out += lines.size() - (last - first);
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(last), lines.end());
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

std::string stamp_log_line(Nanos time, std::string_view line) {
  char stamp[40];
  std::snprintf(stamp, sizeof stamp, "%5lld.%06lld ",
                static_cast<long long>(time.count / 1'000'000'000),
                static_cast<long long>(time.count / 1'000 % 1'000'000));
  std::string out = stamp;
  out.append(line).append("\n");
  return out;
}

Result<NodeLog> read_node_log(const std::string& path, std::string node, Nanos from, Nanos to,
                              size_t max) {
  NodeLog log{std::move(node), {}, 0};
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return log;
  std::ifstream file(path);
  if (!file) {
    return input_error("cannot read " + path + ": " + std::generic_category().message(errno));
  }
  const Nanos middle = from + (to - from) / 2;
  Nanos time{-1};
  for (std::string line; std::getline(file, line);) {
    size_t skip = 0;
    if (const auto stamp = stamp_of(line)) std::tie(time, skip) = *stamp;
    if (time < from || time > to) continue;
    log.lines.push_back({time, line.substr(skip, kLineMax)});
    if (log.lines.size() >= (max + 1) * kKeptPerWanted) keep_nearest(log, middle, max);
  }
  keep_nearest(log, middle, max);
  return log;
}

}  // namespace assay
