// Series: figures of several runs against one axis, as a stand-alone SVG: fits a README and a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct SeriesLine {
  std::string label;
  std::vector<std::optional<double>> y;  // one per x; nothing: not measured
};

struct Series {
  std::string title;
  std::string x_label;
  std::vector<std::string> x;  // in order, evenly spaced: they need not be numbers
  std::vector<SeriesLine> lines;  // each on a scale of its own, stacked
};

// A figure that is fit for both light and dark pages; it needs nothing outside of itself.
std::string series_svg(const Series& series);

}  // namespace assay
