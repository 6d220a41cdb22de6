#include "results/report/html.h"

#include "results/report/drawings.h"
#include "results/report/html_elements.h"
#include "results/report/html_sections.h"
#include "results/report/html_style.h"
#include "results/report/svg.h"

namespace assay {
namespace {

using report::element;
using report::figure;
using report::Outcome;
using report::text_html;
using report::Timeline;

constexpr size_t kColumns = 240;  // of the plots
constexpr double kPlotWidth = 1232;

std::string plots_html(const Report& report, const Timeline& timeline, bool strip) {
  if (!report.digest.timed || report.history.size() == 0) return "";
  std::string out = "<h2>Over time</h2>\n";
  if (strip) {
    out += figure("The whole run", report::run_strip(report, timeline, kPlotWidth), "plot");
  }
  out += figure(
      "Operations per second <span>by time of completion; shaded: a fault was certainly in "
      "force</span>",
      report::throughput_plot(report, timeline, kPlotWidth), "plot");
  out += figure(
      "Latency of ok operations <span>invocation to completion; darker: more operations; "
      "median, 95th and 99th percentile</span>",
      report::latency_plot(report, timeline, kPlotWidth), "plot");
  out += figure("Outcomes per node <span>share of ok, fail and info of what ended</span>",
                report::availability_plot(report, timeline, kPlotWidth), "plot");
  if (const std::string clocks = report::clock_plot(report, kPlotWidth); !clocks.empty())
    out += figure("Clocks <span>by how much the store's clock was ahead, a row per node</span>",
                  clocks, "plot");
  return out;
}

std::string footer_html(const Report& report) {
  std::string out = "Assay";
  if (!report.info.assay_version.empty()) out += " " + report.info.assay_version;
  return element(
      "footer", "",
      text_html(out) + ". A valid verdict says that this history shows no violation, and no more.");
}

std::string page_title(const Report& report) {
  const auto& header = report.history.header();
  std::string out = report.headline.word;
  for (const std::string& part : {header.target, header.workload, report.info.faults}) {
    if (!part.empty()) out += " " + part;
  }
  return text_html(out, 120);
}

// Sections each have their own bound, but not all of them reach it at once in practice: one that
// would lead beyond the cap is left out, and the page says so.
class Page {
 public:
  void add(const std::string& section) {
    constexpr size_t kReserved = 1'000;  // for the notes and the end
    if (out_.size() + section.size() > kHtmlBytesMax - kReserved) {
      left_out_ = true;
      return;
    }
    out_ += section;
  }
  std::string finish(std::string_view end) {
    if (left_out_) {
      out_ +=
          element("p", "", "Sections that would make this page larger than 3 MB were left out.");
    }
    return out_.append(end);
  }

 private:
  std::string out_;
  bool left_out_ = false;
};

}  // namespace

std::string html_report(const Report& report) {
  const Timeline timeline = report::timeline_of(report.history, report.digest, kColumns);
  const bool invalid = report.headline.outcome == Outcome::kInvalid;
  Page page;
  page.add(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n" +
      element("title", "", page_title(report)) + "\n" + element("style", "", report::html_style()) +
      "\n</head>\n<body>\n" + report::svg_definitions());
  page.add(report::headline_html(report));
  page.add(report::first_screen_html(report, timeline));
  page.add(report::clauses_html(report));
  page.add(report::tree_html(report));
  page.add(plots_html(report, timeline, invalid));
  page.add(report::operations_html(report));
  page.add(report::counts_html(report, timeline));
  page.add(report::settings_html(report));
  page.add(footer_html(report));
  return page.finish("</body>\n</html>\n");
}

}  // namespace assay
