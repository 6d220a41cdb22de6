#include <algorithm>
#include <cmath>
#include <map>

#include "results/report/drawings.h"
#include "results/report/lanes.h"
#include "results/report/markup.h"
#include "results/report/order_drawing.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr double kLeft = 74;
constexpr double kRight = 10;
constexpr double kAxisRow = 24;
constexpr double kBoxHeight = 22;
constexpr double kLabelRow = 20;        // above the boxes of a row
constexpr double kSecondLabelRow = 15;  // below them, where labels would collide
constexpr double kRowGap = 9;
constexpr double kContextRow = 13;
constexpr double kLane = 24;
constexpr double kApart = 26;  // px between neighbouring events
constexpr size_t kOperationsMax = 40;
constexpr size_t kContextMax = 160;
constexpr size_t kContextRowsMax = 6;
constexpr size_t kArrowsMax = 24;
constexpr size_t kLanesMax = 7;
constexpr size_t kCaptionsMax = 4;

struct Row {
  Process process;
  bool context = false;  // of a process that has no part in the witness
  double y = 0;
  double height = 0;
  std::vector<const Operation*> operations;
};

class Drawing {
 public:
  Drawing(const Report& report, double width) : report_(report), width_(width) {
    operations_ = report.witness_operations;
    if (operations_.size() > kOperationsMax) {
      operations_.erase(operations_.begin() + kOperationsMax, operations_.end());
    }
    timed_ = report.digest.timed;
    several_keys_ = std::any_of(operations_.begin(), operations_.end(), [&](const Operation& o) {
      return o.key() != operations_.front().key();
    });
    find_window();
    find_context();
    make_rows();
    const auto& order = report.witness.verdict->witness->order;
    if (order) order_ = &*order;
    number_steps();
  }

  std::string draw() {
    place_rows();
    const std::vector<StateSpan> spans = state_spans();
    const double lanes_top = rows_bottom_ + 6 + (spans.empty() ? 0 : kLane);
    const std::vector<Symbol> nodes = timed_ ? nodes_shown() : std::vector<Symbol>();
    const double bottom = lanes_top + kLane * static_cast<double>(nodes.size());
    draw_guides(bottom);
    for (const Row& row : rows_) draw_row_background(row);
    draw_arrows();
    for (const Row& row : rows_) draw_row(row);
    if (!spans.empty()) draw_state_lane(spans, rows_bottom_ + 6);
    draw_lanes(nodes, lanes_top);
    double y = bottom + 6;
    y += draw_legend(svg_, legend(), {kLeft, y}, width_ - kLeft - kRight);
    y += draw_captions(y);
    if (order_ != nullptr) {
      y += 14;
      y += draw_order(svg_, *order_, report_.history, {kLeft, y, width_ - kLeft - kRight, 0});
    }
    return svg_.finish(width_, y + 2,
                       "The witness: its operations by process and time, and the last legal order");
  }

 private:
  double begin_of(const Operation& o) const {
    return timed_ ? to_seconds(o.invoke_time()) : static_cast<double>(o.invoke_position());
  }
  // Where the box ends; an operation of unknown outcome stays open to the edge.
  double end_of(const Operation& o) const {
    if (o.return_position() == kOpen) return axis_.to();
    return timed_ ? to_seconds(o.return_time()) : static_cast<double>(o.return_position());
  }
  bool in_witness(size_t id) const {
    return std::any_of(operations_.begin(), operations_.end(),
                       [&](const Operation& o) { return o.id() == id; });
  }

  void number_steps() {
    if (order_ == nullptr) return;
    for (size_t i = 0; i < order_->steps.size(); ++i) {
      numbers_[order_->steps[i].operation] = order_->before + i + 1;
    }
  }
  bool breaks(const Operation& o) const { return order_ && order_->breaks == o.id(); }

  // Each step happens as soon as it can after the one before.
  std::vector<StateSpan> state_spans() const {
    std::vector<StateSpan> spans;
    if (order_ == nullptr || order_->start.empty()) return spans;
    double at = axis_.from();
    spans.push_back({at, order_->start});
    for (const OrderStep& step : order_->steps) {
      if (step.operation >= report_.history.size()) continue;
      at = std::max(at, begin_of(report_.history[step.operation]));
      if (step.state != spans.back().state) spans.push_back({at, step.state});
    }
    return spans;
  }
  void draw_state_lane(const std::vector<StateSpan>& spans, double y) {
    double until = axis_.to();
    if (order_->breaks && *order_->breaks < report_.history.size()) {
      const Operation o = report_.history[*order_->breaks];
      until = std::max(begin_of(o), is_open(o) ? begin_of(o) : end_of(o));
    }
    draw_states(svg_, spans, until, axis_, {kLeft, y + 1, width_ - kRight - kLeft, kLane - 2});
    svg_.text({kLeft - 8, y + kLane / 2 + 4}, "state", "label end");
  }

  void find_window() {
    std::vector<double> marks;
    for (const Operation& o : operations_) {
      if (!timed_) indexes_[o.invoke_position()] = o.invoke_index();
      if (!timed_) indexes_[o.return_position()] = o.return_index();
      marks.push_back(begin_of(o));
      if (o.return_position() != kOpen && !is_open(o)) {
        marks.push_back(timed_ ? to_seconds(o.return_time()) : o.return_position());
      }
    }
    const auto [low, high] = std::minmax_element(marks.begin(), marks.end());
    const double span = *high - *low;
    const double margin = span > 0 ? span * 0.06 : timed_ ? 20e-6 : 0.5;
    axis_ = Axis::through(marks, *low - margin, *high + margin, kLeft, width_ - kRight, kApart);
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    marks_ = std::move(marks);
  }

  // Other operations on the same keys that overlap the window.
  void find_context() {
    const History& history = report_.history;
    std::vector<Symbol> keys;
    for (const Operation& o : operations_) {
      if (std::find(keys.begin(), keys.end(), o.key()) == keys.end()) keys.push_back(o.key());
    }
    for (size_t id = 0; id < history.size() && context_.size() < kContextMax; ++id) {
      const Operation o = history[id];
      const bool same_key = std::find(keys.begin(), keys.end(), o.key()) != keys.end();
      if (!same_key || in_witness(id) || begin_of(o) > axis_.to()) continue;
      // Not what merely stayed open from long before: it would cover everything.
      const double end = o.return_position() == kOpen
                             ? begin_of(o)
                             : (timed_ ? to_seconds(o.return_time()) : o.return_position());
      if (end >= axis_.from()) context_.push_back(o);
    }
  }

  void make_rows() {
    const auto row_of = [&](Process process) {
      return std::find_if(rows_.begin(), rows_.end(),
                          [&](const Row& row) { return row.process == process; });
    };
    for (const Operation& o : operations_) {
      if (row_of(o.process()) == rows_.end()) rows_.push_back({o.process()});
      row_of(o.process())->operations.push_back(&o);
    }
    size_t context_rows = 0;
    for (const Operation& o : context_) {
      if (row_of(o.process()) == rows_.end()) {
        if (context_rows == kContextRowsMax) continue;
        ++context_rows;
        rows_.push_back({o.process(), true});
      }
      row_of(o.process())->operations.push_back(&o);
    }
  }

  std::string label_of(const Operation& o) const {
    std::string text = several_keys_ && !o.key().empty() ? std::string(o.key().text()) + " " : "";
    text += operation_text(o, 14);
    if (o.type() != OpType::kOk) text += o.type() == OpType::kFail ? ", failed" : ", unknown";
    return text;
  }

  double label_width(const Operation& o) const { return text_width(label_of(o), 14); }  // bold

  // Left end of the label, kept within the drawing.
  double label_x(const Operation& o) const {
    const double room = width_ - kRight - label_width(o);
    return std::max(kLeft + 2, std::min(axis_.x(begin_of(o)), room));
  }

  // Labels alternate between above and below where they would run into each other.
  std::map<const Operation*, int> label_tiers(const Row& row) const {
    std::map<const Operation*, int> tiers;
    double ends[2] = {-1, -1};
    for (const Operation* o : row.operations) {
      if (!in_witness(o->id())) continue;
      const double x = label_x(*o);
      const int tier = x >= ends[0] ? 0 : 1;
      ends[tier] = x + label_width(*o) + 8;
      tiers[o] = tier;
    }
    return tiers;
  }

  void place_rows() {
    double y = kAxisRow;
    for (Row& row : rows_) {
      row.y = y;
      row.height = kContextRow;
      if (!row.context) {
        const auto tiers = label_tiers(row);
        const bool second = std::any_of(tiers.begin(), tiers.end(),
                                        [](const auto& tier) { return tier.second == 1; });
        row.height = kLabelRow + kBoxHeight + (second ? kSecondLabelRow : 0) + kRowGap;
      }
      y += row.height;
    }
    rows_bottom_ = y;
  }

  double box_y(const Row& row) const { return row.context ? row.y + 2 : row.y + kLabelRow; }
  double box_height(const Row& row) const { return row.context ? kContextRow - 4 : kBoxHeight; }

  int decimals() const {
    if (!timed_) return 0;
    double least = 1;
    for (size_t i = 1; i < marks_.size(); ++i) least = std::min(least, marks_[i] - marks_[i - 1]);
    return std::clamp(static_cast<int>(std::ceil(-std::log10(least))), 3, 6);
  }

  void draw_guides(double bottom) {
    double last = -1000;
    for (double t : marks_) {
      const double x = axis_.x(t);
      svg_.line({x, kAxisRow - 6}, {x, bottom}, "guide");
      const std::string text =
          timed_ ? fixed(t, decimals()) + " s" : std::to_string(indexes_[static_cast<Position>(t)]);
      const double width = text_width(text);
      const double at = std::clamp(x, kLeft + width / 2, width_ - kRight - width / 2);
      if (at - width / 2 < last + 8) continue;
      svg_.text({at, kAxisRow - 11}, text, "tick mid");
      last = at + width / 2;
    }
    if (!timed_) svg_.text({kLeft - 8, kAxisRow - 11}, "index", "tick end");
  }

  void draw_row_background(const Row& row) {
    const Box band{kLeft, row.y + 1, width_ - kRight - kLeft, row.height - 2};
    svg_.box(band, row.context ? "lane context" : "lane");
    const Symbol node = row.operations.front()->node();
    if (!timed_ || row.context || node.empty()) return;
    for (const FaultInterval& fault : report_.digest.intervals) {
      double from = 0;
      double to = 0;
      if (!hits(fault, node) || !certain_within(fault, axis_, from, to)) continue;
      const std::string kind(fault_class(fault.kind));
      svg_.box({axis_.x(from), band.y, axis_.x(to) - axis_.x(from), band.height}, "tint f-" + kind,
               fault_title(fault));
    }
  }

  void draw_row(const Row& row) {
    const double middle = box_y(row) + box_height(row) / 2;
    const std::string process = "p" + std::to_string(row.process.id);
    svg_.text({kLeft - 8, middle + (row.context ? 3 : 0)}, process,
              row.context ? "tick end" : "label strong end");
    if (!row.context) {
      const std::string_view node = row.operations.front()->node().text();
      svg_.text({kLeft - 8, middle + 13}, shortened(node, 10), "tick end");
    }
    for (const Operation* o : row.operations) {
      if (!in_witness(o->id())) draw_operation(row, *o, false);
    }
    const auto tiers = label_tiers(row);
    for (const Operation* o : row.operations) {
      if (!in_witness(o->id())) continue;
      draw_operation(row, *o, true);
      const double y = tiers.at(o) == 0 ? row.y + kLabelRow - 5
                                        : row.y + kLabelRow + kBoxHeight + kSecondLabelRow - 3;
      svg_.text({label_x(*o), y}, label_of(*o), "operation", title_of(*o));
    }
  }

  void draw_operation(const Row& row, const Operation& o, bool witness) {
    const double x = axis_.x(begin_of(o));
    const double right = std::max(x + 3, axis_.x(end_of(o)));
    const Box box{x, box_y(row), right - x, box_height(row)};
    const std::string type(to_string(o.type()));
    std::string cls = "o-" + type + (witness ? "" : " faint");
    svg_.box(box, cls, title_of(o), witness ? 3 : 2);
    if (breaks(o)) {
      svg_.box({box.x - 2, box.y - 2, box.width + 4, box.height + 4}, "breaks", title_of(o), 4);
    }
    const auto number = numbers_.find(o.id());
    if (witness && number != numbers_.end() && box.width > 12) {
      svg_.text({box.x + 4, box.y + 15}, std::to_string(number->second), "tick");
    }
    // An unknown outcome may take effect at any later time.
    if (witness && is_open(o) && right < axis_.x_to()) {
      svg_.line({right, box.y + box.height / 2}, {axis_.x_to(), box.y + box.height / 2}, "open");
    }
  }

  std::string title_of(const Operation& o) const {
    std::string out = "p" + std::to_string(o.process().id);
    if (!o.node().empty()) out += " on " + std::string(o.node().text());
    if (!o.key().empty()) out += ", " + shortened(o.key().text(), 60);
    out += ": " + operation_text(o, 80) + ", " + outcome_text(o) + ", index " +
           std::to_string(o.invoke_index());
    if (!timed_) return out;
    out += ", " + point_text(o.invoke_time(), 6);
    if (o.return_position() != kOpen) {
      out += " to " + point_text(o.return_time(), 6) + " (" +
             format_duration(o.return_time() - o.invoke_time()) + ")";
    }
    return out;
  }

  bool before(const Operation& a, const Operation& b) const {
    return !is_open(a) && a.return_position() != kOpen && a.return_position() < b.invoke_position();
  }

  // a returned before b was invoked, and nothing else of the witness lies in between.
  void draw_arrows() {
    size_t drawn = 0;
    for (const Operation& a : operations_) {
      for (const Operation& b : operations_) {
        if (!before(a, b)) continue;
        const bool between =
            std::any_of(operations_.begin(), operations_.end(),
                        [&](const Operation& c) { return before(a, c) && before(c, b); });
        if (between || ++drawn > kArrowsMax) continue;
        draw_arrow(a, b);
      }
    }
  }

  double middle_of(const Operation& o) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& r) { return r.process == o.process(); });
    return box_y(*row) + box_height(*row) / 2;
  }

  void draw_arrow(const Operation& a, const Operation& b) {
    const Point from{std::max(axis_.x(begin_of(a)) + 3, axis_.x(end_of(a))), middle_of(a)};
    const Point to{axis_.x(begin_of(b)) - 1, middle_of(b)};
    const double bend = std::max(12.0, (to.x - from.x) / 2);
    Path path;
    path.move(from);
    if (from.y == to.y) {
      path.line(to);
    } else {
      path.curve({from.x + bend, from.y}, {to.x - bend, to.y}, to);
    }
    const std::string gap =
        timed_ ? format_duration(b.invoke_time() - a.return_time()) : std::string();
    svg_.path(path, "arrow",
              gap.empty() ? "returned before the other was invoked" : gap + " later in real time");
    if (gap.empty() || to.x - from.x < text_width(gap) + 24) return;
    const double x = (from.x + to.x) / 2;
    const double y = (from.y + to.y) / 2;
    svg_.box({x - text_width(gap) / 2 - 3, y - 8, text_width(gap) + 6, 15}, "plate", {}, 3);
    svg_.text({x, y + 3}, gap, "tick mid");
  }

  std::vector<Symbol> nodes_shown() const {
    const std::vector<Symbol>& all = report_.digest.nodes;
    if (all.size() <= kLanesMax) return all;
    std::vector<Symbol> shown;
    for (Symbol node : all) {
      const bool served = std::any_of(operations_.begin(), operations_.end(),
                                      [&](const Operation& o) { return o.node() == node; });
      if (served && shown.size() < kLanesMax) shown.push_back(node);
    }
    return shown;
  }

  void draw_lanes(const std::vector<Symbol>& nodes, double y) {
    for (Symbol node : nodes) {
      const Box lane{kLeft, y + 1, width_ - kRight - kLeft, kLane - 2};
      svg_.box(lane, "lane");
      draw_node_faults(svg_, report_.digest.intervals, node, axis_, lane, nodes.size());
      draw_roles(svg_, report_.digest.samples, node, axis_, lane, report_.digest.end, nodes.size());
      svg_.text({kLeft - 8, y + kLane / 2 + 4}, shortened(node.text(), 10), "label end");
      y += kLane;
    }
  }

  std::vector<LegendItem> legend() const {
    std::vector<LegendItem> items = {{"o-ok", "ok"}};
    const auto any = [&](OpType type) {
      const auto is = [&](const Operation& o) { return o.type() == type; };
      return std::any_of(operations_.begin(), operations_.end(), is) ||
             std::any_of(context_.begin(), context_.end(), is);
    };
    if (any(OpType::kFail)) items.push_back({"o-fail", "failed"});
    if (any(OpType::kInfo)) items.push_back({"o-info", "unknown outcome"});
    if (!context_.empty()) items.push_back({"o-ok faint", "others on the key"});
    if (timed_ && !report_.digest.samples.empty()) {
      items.push_back({"r-leader", "leader (term)"});
      items.push_back({"r-follower", "follower"});
    }
    if (order_ && order_->breaks) items.push_back({"breaks", "has no place in any order"});
    if (axis_.stretched()) items.push_back({"none", "time is stretched where events are close"});
    return items;
  }

  // The faults in force on the nodes shown, in words.
  double draw_captions(double top) {
    size_t drawn = 0;
    for (const FaultInterval& fault : report_.digest.intervals) {
      double from = 0;
      double to = 0;
      if (!timed_ || !certain_within(fault, axis_, from, to) || ++drawn > kCaptionsMax) continue;
      const double y = top + 18 * static_cast<double>(drawn - 1);
      const std::string kind(fault_class(fault.kind));
      svg_.box({kLeft, y + 3, 12, 10}, "tint f-" + kind, {}, 2);
      svg_.box({kLeft, y + 3, 12, 10}, "x-" + kind, {}, 2);
      svg_.text({kLeft + 18, y + 12}, shortened(fault_title(fault), 120), "legend");
    }
    return 18 * static_cast<double>(std::min(drawn, kCaptionsMax));
  }

  const Report& report_;
  const double width_;
  bool timed_ = false;
  bool several_keys_ = false;
  std::vector<Operation> operations_;
  std::vector<Operation> context_;
  std::vector<double> marks_;
  std::map<Position, int64_t> indexes_;  // in the file, by position, where there are no times
  Axis axis_;
  const LastOrder* order_ = nullptr;
  std::map<size_t, size_t> numbers_;  // of the steps of the order, by operation
  std::vector<Row> rows_;
  double rows_bottom_ = 0;
  Svg svg_;
};

}  // namespace

std::string witness_drawing(const Report& report, double width) {
  if (report.witness_operations.empty()) return "";
  return Drawing(report, width).draw();
}

}  // namespace assay::report
