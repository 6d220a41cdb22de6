#include "results/report/order_drawing.h"

#include <algorithm>

#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr double kTitleRow = 20;
constexpr double kCellHeight = 52;
constexpr double kCellGap = 14;  // room for an arrow
constexpr double kRowSpace = 8;
constexpr int kCellsPerRow = 5;
constexpr size_t kStepsMax = 18;
constexpr size_t kTitleMax = 200;

std::string cut_to(std::string_view text, double width, double size) {
  const auto room = static_cast<size_t>(std::max(1.0, width / text_width("x", size)));
  return shortened(text, room);
}

void draw_cross(Svg& svg, Point at, double r) {
  Path path;
  path.move({at.x - r, at.y - r}).line({at.x + r, at.y + r});
  path.move({at.x + r, at.y - r}).line({at.x - r, at.y + r});
  svg.path(path, "cross");
}

struct Cell {
  std::string head, what, state;  // three lines
  std::string title;
  bool breaks = false;
};

std::string whose(const Operation& o) {
  std::string out = "p" + std::to_string(o.process().id);
  if (!o.node().empty()) out += " on " + std::string(o.node().text());
  return out;
}

std::string says(const std::string& state) { return state.empty() ? "" : "leaves " + state; }

Cell cell_of(const Operation& o, size_t number, const std::string& state) {
  const bool unknown = is_open(o);
  return {.head = std::to_string(number) + ". " + whose(o),
          .what = operation_text(o, 24) + (o.type() == OpType::kFail ? ", failed" : ""),
          .state = says(state),
          .title = whose(o) + ": " + operation_text(o, 80) + ", " + outcome_text(o) +
                   (unknown ? ": taken as having happened" : "") + ", index " +
                   std::to_string(o.invoke_index()) +
                   (state.empty() ? "" : "; then " + shortened(state, kTitleMax))};
}

std::vector<Cell> cells_of(const LastOrder& order, const History& history) {
  std::vector<Cell> cells;
  const bool first = order.before == 0;
  cells.push_back({.head = first ? "at first" : "after " + counted(static_cast<int64_t>(order.before), "step", "steps"),
                   .what = order.start.empty() ? "the state" : order.start,
                   .state = "",
                   .title = shortened(order.start, kTitleMax)});
  for (size_t i = 0; i < std::min(order.steps.size(), kStepsMax); ++i) {
    const auto& [operation, state] = order.steps[i];
    if (operation < history.size()) {
      cells.push_back(cell_of(history[operation], order.before + i + 1, state));
    }
  }
  if (order.breaks && *order.breaks < history.size()) {
    Cell cell = cell_of(history[*order.breaks], 0, "");
    cell.head = whose(history[*order.breaks]);
    cell.state = "fits in no order";
    cell.breaks = true;
    cells.push_back(std::move(cell));
  }
  return cells;
}

void draw_cell(Svg& svg, const Cell& cell, const Box& box, bool start) {
  svg.box(box, cell.breaks ? "step breaks" : start ? "step start" : "step", cell.title, 4);
  const double room = box.width - 14;
  const double left = box.x + 7;
  svg.text({left, box.y + 14}, cut_to(cell.head, room - (cell.breaks ? 16 : 0), 10.5), "tick");
  svg.text({left, box.y + 30}, cut_to(cell.what, room, 12.5), "operation", cell.title);
  if (!cell.state.empty()) {
    svg.text({left, box.y + 45}, cut_to(cell.state, room, 11), cell.breaks ? "bad" : "label");
  }
  if (cell.breaks) draw_cross(svg, {box.x + box.width - 12, box.y + 11}, 4.5);
}

std::string title_of(const LastOrder& order) {
  std::string out = "The last legal order";
  if (!order.of.empty()) out += " of " + shortened(order.of, 60);
  if (order.before > 0) {
    out += ", the last " + std::to_string(order.steps.size()) + " of " +
           grouped(static_cast<int64_t>(order.before + order.steps.size())) + " steps";
  }
  return out + ": each step, and the state that it leaves";
}

}  // namespace

double draw_order(Svg& svg, const LastOrder& order, const History& history, const Box& area) {
  const std::vector<Cell> cells = cells_of(order, history);
  svg.text({area.x, area.y + 13}, cut_to(title_of(order), area.width, 11.5), "label strong");
  const double pitch = (area.width + kCellGap) / kCellsPerRow;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto row = static_cast<double>(i / kCellsPerRow);
    const auto column = static_cast<double>(i % kCellsPerRow);
    const Box box{area.x + column * pitch,
                  area.y + kTitleRow + row * (kCellHeight + kRowSpace), pitch - kCellGap,
                  kCellHeight};
    draw_cell(svg, cells[i], box, i == 0);
    if (i + 1 == cells.size() || column + 1 == kCellsPerRow) continue;
    Path arrow;
    const double y = box.y + kCellHeight / 2;
    arrow.move({box.x + box.width + 1, y}).line({box.x + pitch - 1, y});
    svg.path(arrow, "arrow next");
  }
  const auto rows = static_cast<double>((cells.size() + kCellsPerRow - 1) / kCellsPerRow);
  return kTitleRow + rows * (kCellHeight + kRowSpace);
}

void draw_states(Svg& svg, const std::vector<StateSpan>& spans, double until, const Axis& axis,
                 const Box& lane) {
  svg.box(lane, "lane");
  const double end = axis.x(until);
  for (size_t i = 0; i < spans.size(); ++i) {
    const double x = axis.x(spans[i].from);
    const double next = i + 1 < spans.size() ? axis.x(spans[i + 1].from) : end;
    if (next - x < 1) continue;
    const std::string title = shortened(spans[i].state, kTitleMax);
    svg.box({x, lane.y + 2, next - x, lane.height - 4}, "state", title, 3);
    if (next - x < 16) continue;
    svg.text({x + 5, lane.y + lane.height / 2 + 4}, cut_to(spans[i].state, next - x - 8, 11.5),
             "label strong", title);
  }
  draw_cross(svg, {std::min(end + 6, lane.x + lane.width - 5), lane.y + lane.height / 2}, 4.5);
}

}  // namespace assay::report
