#include <algorithm>

#include "results/report/html_elements.h"
#include "results/report/html_sections.h"
#include "results/report/markup.h"
#include "results/report/words.h"

namespace assay::report {
namespace {

constexpr size_t kTableBytesMax = 200'000;
constexpr size_t kSpecBytesMax = 60'000;
constexpr size_t kAround = 15;  // operations shown before and after the witness
constexpr size_t kNear = 3;     // … and about each of its operations, where they lie far apart
constexpr size_t kRowsMax = 120;
constexpr size_t kKindsMax = 40;
constexpr size_t kErrorsMax = 12;

// A column whose name begins with # holds numbers.
std::string table(const std::vector<std::string_view>& columns, const std::string& rows) {
  std::string head;
  for (std::string_view column : columns) {
    head += column.starts_with('#') ? "<th class=\"n\">" : "<th>";
    head += std::string(column.substr(column.starts_with('#') ? 1 : 0)) + "</th>";
  }
  return element("table", "",
                 element("thead", "", element("tr", "", head)) + element("tbody", "", rows));
}

std::string operation_row(const Operation& o, bool hit, bool timed) {
  const bool returned = o.return_position() != kOpen;
  std::string out = number_cell(std::to_string(o.invoke_index()));
  if (timed) {
    out += number_cell(fixed(to_seconds(o.invoke_time()), 6));
    out += number_cell(returned ? escape(format_duration(o.return_time() - o.invoke_time())) : "");
  }
  out += number_cell("p" + std::to_string(o.process().id)) + cell(text_html(o.node().text(), 40)) +
         cell(text_html(o.key().text(), 60)) + cell(text_html(operation_text(o, 60))) +
         cell(text_html(outcome_text(o), 80)) + cell(text_html(o.error_text(), 120));
  return element("tr", hit ? "hit" : "", out) + "\n";
}

// Ids of the operations on the witness's keys, from a little before it to a little after it.
std::vector<size_t> ids_around(const Report& report) {
  const History& history = report.history;
  std::vector<Symbol> keys;
  size_t first = history.size();
  size_t last = 0;
  for (const Operation& o : report.witness_operations) {
    if (std::find(keys.begin(), keys.end(), o.key()) == keys.end()) keys.push_back(o.key());
    first = std::min(first, o.id());
    last = std::max(last, o.id());
  }
  const auto on_keys = [&](size_t id) {
    return std::find(keys.begin(), keys.end(), history[id].key()) != keys.end();
  };
  std::vector<size_t> ids;
  for (size_t id = first; id-- > 0 && ids.size() < kAround;) {
    if (on_keys(id)) ids.push_back(id);
  }
  std::reverse(ids.begin(), ids.end());
  size_t after = 0;
  for (size_t id = first; id < history.size() && after < kAround; ++id) {
    if (!on_keys(id)) continue;
    ids.push_back(id);
    after += id > last;
  }
  return ids;
}

// Which of the rows to show: all when they are few, else the witness and what is near to it.
std::vector<bool> rows_to_show(const std::vector<bool>& hits) {
  std::vector<bool> show(hits.size(), hits.size() <= kRowsMax);
  for (size_t i = 0; i < hits.size(); ++i) {
    if (!hits[i]) continue;
    const size_t end = std::min(hits.size(), i + kNear + 1);
    for (size_t k = i < kNear ? 0 : i - kNear; k < end; ++k) show[k] = true;
  }
  return show;
}

std::string gap_row(size_t skipped) {
  return element("tr", "gap",
                 "<td colspan=\"9\">" + grouped(static_cast<int64_t>(skipped)) + " more</td>");
}

std::string latency_table(const Report& report, const Timeline& timeline) {
  const bool timed = report.digest.timed;
  std::string rows;
  for (size_t i = 0; i < std::min(report.digest.by_f.size(), kKindsMax); ++i) {
    const auto& [f, outcomes] = report.digest.by_f[i];
    std::string row = cell(text_html(f.text(), 60));
    for (int64_t n : {outcomes.ok, outcomes.fail, outcomes.info}) row += number_cell(grouped(n));
    const LatencyHistogram& latency = timeline.by_f[i].second;
    const Nanos times[] = {latency.quantile(0.5), latency.quantile(0.95), latency.quantile(0.99),
                           latency.max()};
    for (size_t k = 0; timed && k < std::size(times); ++k) {
      row += number_cell(latency.count() == 0 ? "" : escape(format_duration(times[k])));
    }
    rows += element("tr", "", row);
  }
  std::vector<std::string_view> columns = {"operation", "#ok", "#fail", "#info"};
  if (timed) columns.insert(columns.end(), {"#p50", "#p95", "#p99", "#max"});
  return table(columns, rows);
}

std::string error_table(const Digest& digest) {
  std::string rows;
  for (size_t i = 0; i < std::min(digest.by_error.size(), kErrorsMax); ++i) {
    const auto& [cls, count] = digest.by_error[i];
    rows += element("tr", "", cell(text_html(cls.text(), 60)) + number_cell(grouped(count)));
  }
  return rows.empty() ? "" : table({"error", "#operations"}, rows);
}

std::string fault_table(const Digest& digest) {
  std::string rows;
  for (const FaultCount& fault : digest.faults) {
    std::string row = cell(text_html(fault.kind, 60));
    for (int64_t n : {fault.started, fault.installed, fault.bit, fault.healed}) {
      row += number_cell(grouped(n));
    }
    rows += element("tr", "", row);
  }
  return rows.empty() ? "" : table({"fault", "#started", "#installed", "#bit", "#healed"}, rows);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string two_columns(std::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  std::string out;
  for (const auto& [name, value] : rows) {
    if (out.size() > kSpecBytesMax) {
      out += element("tr", "", cell("…") + cell("spec.json has the rest"));
      break;
    }
    out += element("tr", "", cell(text_html(name, 80)) + cell(text_html(value)));
  }
  return element("div", "",
                 element("h3", "", title) + element("table", "", element("tbody", "", out)));
}

Rows spec_rows(const RunInfo& info) {
  Rows rows;
  if (!info.spec.is_object()) return rows;
  for (const auto& [name, value] : info.spec.as_object()) {
    rows.emplace_back(name.text(), value_text(value, kTextMax));
  }
  return rows;
}

Rows run_rows(const Report& report) {
  const RunInfo& info = report.info;
  Rows rows;
  const auto put = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(name, value);
  };
  put("command", info.command);
  put("folder", info.folder);
  put("started", info.started);
  put("environment", info.environment);
  if (info.host.is_object()) put("host", info.host.to_json());
  for (const Binary& binary : info.binaries) put(binary.name, binary.hash);
  for (const auto& [name, time] : info.timings) put("took: " + name, format_duration(time));
  if (info.read_time) put("took: read", format_duration(*info.read_time));
  if (info.check_time) put("took: check", format_duration(*info.check_time));
  for (const std::string& convention : report.evidence.conventions) put("convention", convention);
  for (const std::string& warning : report.history.warnings()) put("warning", warning);
  return rows;
}

}  // namespace

std::string operations_html(const Report& report) {
  if (report.witness_operations.empty()) return "";
  const std::vector<size_t> ids = ids_around(report);
  std::vector<bool> hits;
  for (size_t id : ids) {
    hits.push_back(std::any_of(report.witness_operations.begin(), report.witness_operations.end(),
                               [&](const Operation& o) { return o.id() == id; }));
  }
  const std::vector<bool> show = rows_to_show(hits);
  std::string rows;
  size_t shown = 0;
  size_t skipped = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!show[i] || shown >= kRowsMax || rows.size() > kTableBytesMax) {
      ++skipped;
      continue;
    }
    if (skipped > 0) rows += gap_row(std::exchange(skipped, 0));
    rows += operation_row(report.history[ids[i]], hits[i], report.digest.timed);
    ++shown;
  }
  if (skipped > 0) rows += gap_row(skipped);
  std::vector<std::string_view> columns = {"#index"};
  if (report.digest.timed) columns.insert(columns.end(), {"#invoked, s", "#took"});
  columns.insert(columns.end(), {"#process", "node", "key", "operation", "outcome", "error"});
  return "<h2>Operations around the witness</h2>\n" +
         element("div", "scroll", table(columns, rows));
}

std::string counts_html(const Report& report, const Timeline& timeline) {
  if (report.history.size() == 0) return "";
  return "<h2>Operations and faults</h2>\n" +
         element("div", "tables",
                 latency_table(report, timeline) + error_table(report.digest) +
                     fault_table(report.digest)) +
         "\n";
}

std::string settings_html(const Report& report) {
  const std::string content =
      two_columns("Spec", spec_rows(report.info)) + two_columns("Run", run_rows(report));
  return content.empty() ? "" : "<h2>Settings</h2>\n" + element("div", "settings", content) + "\n";
}

}  // namespace assay::report
